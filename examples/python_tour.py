# A tour of Centra in Python, in cells: run it whole, or cell by cell in an editor that knows `# %%`.
#
#     python3 python_tour.py
#
# It needs the package centra with NumPy; the last cell also PyTorch, and says so where there is none.

# %% Scores of an episode: three classes, two known pictures of each, five queries
import numpy as np

import centra

random = np.random.default_rng(1)
channels, side = 64, 5
centres = 0.3 * random.normal(size=(3, channels, 1, 1))  # what each class looks like
known = np.arange(6) % 3  # the classes of the support
asked = np.arange(5) % 3  # and of the queries
support = (centres[known] + random.normal(size=(6, channels, side, side))).astype(np.float32)
query = (centres[asked] + random.normal(size=(5, channels, side, side))).astype(np.float32)

result = centra.score(support, known, query, asked, head="mcl-katz")
print("predicted", result.predictions, "loss", round(result.loss, 3))
assert (result.predictions == asked).all()

# %% Which heads there are, and several of them on the same episode
for info in centra.heads():
    if info.name in ("mcl", "mcl-katz", "proto", "dn4", "frn"):
        accuracy = (centra.score(support, known, query, head=info.name).predictions == asked).mean()
        print(f"{info.name:10} {accuracy:.0%}  {info.title}")

# %% Where the walk ends up: centralities of the query's 25 places
central = centra.centrality(support, known, query, gamma=20, beta=10)
print("the most central place of each query:", central.query.reshape(5, -1).argmax(1))
assert np.allclose(central.query.sum((1, 2)), 1, atol=1e-4)

# %% Gradients, for training with whatever one likes
head = centra.Head("mcl-katz")  # keeps its memory between calls
step = head.score(support, known, query, asked, gradients=True)
better = head.score(support - 5 * step.grad_support, known, query - 5 * step.grad_query, asked)
print("loss", round(step.loss, 4), "after a step", round(better.loss, 4))
assert better.loss < step.loss


# %% Own pictures: stripes and rings, known by three examples each
def picture(kind, seed):
    noise = np.random.default_rng(seed)
    y, x = np.mgrid[:120, :160]
    wave = x + noise.uniform(0, 9) if kind == "stripes" else np.hypot(x - 80, y - 60 + noise.uniform(0, 9))
    grey = 0.5 + 0.4 * np.sin(wave / noise.uniform(2, 4)) + noise.normal(0, 0.03, x.shape)
    return (255 * np.clip(grey, 0, 1)[:, :, None] * [1, 0.8, 0.6]).astype(np.uint8)


model = centra.Model()  # the standard one; centra.models() shows what came with the library
print(model, "features of a picture:", model.encode(picture("rings", 1)).shape)
shapes = centra.Classifier(model)
for kind in ("stripes", "rings"):
    shapes.add(kind, [picture(kind, seed) for seed in range(3)])
for kind in ("stripes", "rings"):
    guess = shapes.classify(picture(kind, 10))[0]
    print(f"{kind}: {guess.label}, {guess.probability:.0%}, familiar {guess.familiarity:.2f}")
    assert guess.label == kind

# %% In a training loop of PyTorch
try:
    import torch
except ImportError:
    print("no PyTorch here: the last cell is left out")
else:
    from centra.torch import MCLHead

    torch.manual_seed(0)
    encoder = torch.nn.Conv2d(channels, 32, 1)
    mcl = MCLHead("mcl-katz", gamma=20, beta=10)
    optimiser = torch.optim.SGD(encoder.parameters(), lr=0.1)
    x, y = torch.from_numpy(support), torch.from_numpy(query)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        loss = mcl.loss(encoder(x), torch.from_numpy(known), encoder(y), torch.from_numpy(asked))
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    print("losses", " ".join(f"{v:.4f}" for v in losses))
    assert losses[-1] < losses[0]
