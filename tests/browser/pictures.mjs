// pictures.mjs - PNG files for the tests: a coloured shape somewhere on a quiet ground.
import { deflateSync, crc32 as zlibCrc } from "node:zlib";

const table = new Int32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});
const crc32 = zlibCrc || (bytes => {
  let c = -1;
  for (const b of bytes) c = table[(c ^ b) & 255] ^ (c >>> 8);
  return (c ^ -1) >>> 0;
});

function chunk(kind, data) {
  const out = Buffer.alloc(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(kind, 4, "latin1");
  data.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length);
  return out;
}

// `pixel(x, y)` gives [red, green, blue].
export function png(width, height, pixel) {
  const rows = Buffer.alloc(height * (1 + 3 * width)), head = Buffer.alloc(13);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows.set(pixel(x, y), y * (1 + 3 * width) + 1 + 3 * x);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head),
                        chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

const shapes = {
  sun: (x, y) => x * x + y * y < 1 && [250, 190 - 60 * (x * x + y * y), 30],
  leaf: (x, y) => Math.abs(x) + Math.abs(y) < 1 && ((x + y) * 6 % 2 > 1 ? [40, 160, 60] : [20, 110, 40]),
  sea: (x, y) => Math.max(Math.abs(x), Math.abs(y)) < 0.85 && (Math.sin(x * 14) > 0 ? [40, 90, 220] : [230, 240, 255]),
};
export const kinds = Object.keys(shapes);

// Half the width of a shape, in parts of the picture.
export const half = 0.22;

// A shape around (cx, cy), both 0 to 1 of the picture, on a ground of soft blotches that no other seed has.
export function picture(kind, cx, cy, seed, side = 160) {
  let state = seed * 2654435761 >>> 0;
  const chance = () => (state = Math.imul(state, 1664525) + 1013904223 >>> 0) / 2 ** 32;
  const blotches = Array.from({ length: 24 }, () => ({ x: chance(), y: chance(), size: 0.05 + 0.1 * chance(), tone: [0, 0, 0].map(() => 60 * chance() - 30) }));
  const ground = (x, y) => {
    const v = [150, 142, 130];
    for (const b of blotches) {
      const part = Math.exp(-((x - b.x) ** 2 + (y - b.y) ** 2) / (2 * b.size ** 2));
      if (part > 0.01) b.tone.forEach((t, c) => { v[c] += part * t; });
    }
    return v;
  };
  return png(side, side, (x, y) => {
    const colour = shapes[kind]((x / side - cx) / half, (y / side - cy) / half), grain = 12 * chance() - 6;
    return (colour || ground(x / side, y / side)).map(v => Math.min(255, Math.max(0, Math.round(v + grain))));
  });
}
