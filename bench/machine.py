"""machine.py - what heads.py says about the machine, and where it finds a Python that has PyTorch."""
from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

NEEDED = ("torch", "numpy")
MARK = "CENTRA_BENCH_PYTHON"  # set for the second start, so that there is no third


def debian_python() -> str:
    """The python3 that Debian's packages belong to; another may stand before it on the path."""
    try:
        listed = subprocess.run(["dpkg", "-L", "python3-minimal"], capture_output=True, text=True).stdout.split()
    except OSError:
        listed = []
    return next((p for p in listed if p.endswith("/bin/python3")), "/usr/bin/python3")


def use_python_with(*needed: str) -> None:
    """Starts the script again with Debian's own python3 if this one lacks a module; ends it if that lacks it too."""
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if not missing:
        return
    python = debian_python()
    if MARK not in os.environ and os.access(python, os.X_OK):
        os.environ[MARK] = python
        os.execv(python, [python, *sys.argv])
    packages = " ".join(f"python3-{name}" for name in missing)
    sys.exit(f"{Path(sys.argv[0]).name}: {sys.executable} has no {' and no '.join(missing)}; on Debian: apt-get install {packages}")


def use_python_with_torch() -> None:
    use_python_with(*NEEDED)


def first_value(file: str, key: str, separator: str) -> str:
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return "unknown"
    pairs = (line.partition(separator) for line in lines)
    return next((value.strip().strip('"') for name, _, value in pairs if name.strip() == key), "unknown")


def has_avx512() -> bool:
    flags = first_value("/proc/cpuinfo", "flags", ":").split()
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags)


def alternative(name: str) -> str:
    """The library that Debian's alternatives have chosen for `name`, or why there is none to tell"""
    try:
        out = subprocess.run(["update-alternatives", "--query", name], capture_output=True, text=True).stdout
    except OSError:
        return "no update-alternatives here"
    return next((s.partition(": ")[2] for s in out.splitlines() if s.startswith("Value: ")), "no such alternative")


def describe(centra: dict[str, Any], rival: dict[str, Any], threads: int) -> dict[str, Any]:
    """`centra`, `rival`: what centra version --json and rival_torch.py --about answered"""
    triplet = f"{platform.machine()}-linux-gnu"
    return {
        "processor": first_value("/proc/cpuinfo", "model name", ":"),
        "processors": len(os.sched_getaffinity(0)),
        "system": first_value("/etc/os-release", "PRETTY_NAME", "="),
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "threads": threads,
        "centra": centra,
        "rival": rival,
        "libblas": alternative(f"libblas.so.3-{triplet}"),
        "liblapack": alternative(f"liblapack.so.3-{triplet}"),
    }


def warnings(m: dict[str, Any]) -> list[str]:
    """What makes the numbers of this machine unfair or unsteady"""
    found = []
    rival, centra = m["rival"], m["centra"]
    fast = rival["mkl"] or any("openblas" in p or "mkl" in p or "blis" in p for p in rival["libraries"])
    if not fast:
        found.append("PyTorch HAS NO FAST BLAS (netlib's is 30 times slower): apt-get install libopenblas0-pthread")
    if rival["threads"] != m["threads"]:
        found.append(f"PyTorch uses {rival['threads']} threads instead of {m['threads']}")
    if m["processors"] < m["threads"]:
        found.append(f"{m['threads']} threads on {m['processors']} processors")
    if centra["build"] != "Release":
        found.append(f"Centra is a {centra['build']} build")
    if m["load"] > 0.5:
        found.append(f"the machine is not quiet (load {m['load']:.1f}): no figure below can be relied on")
    return found


def summary(m: dict[str, Any]) -> list[str]:
    r, c = m["rival"], m["centra"]
    return [
        f"{m['processor']}, {m['processors']} processors, {m['system']}, {m['threads']} threads each",
        f"Centra {c['version']} ({c['compiler']}, {c['isa']})",
        f"PyTorch {r['torch']} ({r['capability']}, MKL {'on' if r['mkl'] else 'off'}, oneDNN "
        f"{'on' if r['onednn'] else 'off'}), Python {r['python']}",
        f"BLAS chosen by the system: {m['libblas']}; LAPACK: {m['liblapack']}",
        f"BLAS loaded by PyTorch: {', '.join(r['libraries']) or 'none seen'}",
    ]


def tell(m: dict[str, Any]) -> None:
    """The machine, and what speaks against figures from it, above the table"""
    for line in summary(m) + [f"**WARNING: {w}**" for w in warnings(m)]:
        print(f"- {line}")
