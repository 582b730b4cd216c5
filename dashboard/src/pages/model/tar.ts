// POSIX ustar archives (IEEE Std 1003.1-1988), with pax headers for what does not fit. Pure.

const kBlock = 512;
const kMostUstarSize = 8 ** 11 - 1;

const encoder = new TextEncoder();

function header(name: Uint8Array, size: number, mode: number, type: string): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(kBlock);
  const text = (at: number, value: string) => block.set(encoder.encode(value), at);
  const octal = (at: number, value: number, digits: number) => text(at, value.toString(8).padStart(digits, '0'));
  block.set(name.subarray(0, 100), 0);
  octal(100, mode, 7);
  octal(108, 0, 7);
  octal(116, 0, 7);
  octal(124, Math.min(size, kMostUstarSize), 11);
  octal(136, 0, 11);
  text(148, '        ');
  text(156, type);
  text(257, 'ustar\x0000');
  octal(148, block.reduce((sum, byte) => sum + byte, 0), 6);
  block[154] = 0;
  return block;
}

// "LENGTH key=value\n", where LENGTH counts itself too.
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = encoder.encode(rest).length;
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length = String(length).length + bytes;
  return length + rest;
}

// What stands before a file's bytes.
export function tarHead(path: string, size: number, executable: boolean): Uint8Array<ArrayBuffer>[] {
  const name = encoder.encode(path);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let pax = '';
  if (name.length > 100) pax += paxRecord('path', path);
  if (size > kMostUstarSize) pax += paxRecord('size', String(size));
  if (pax) {
    const bytes = encoder.encode(pax);
    const padded = new Uint8Array(Math.ceil(bytes.length / kBlock) * kBlock);
    padded.set(bytes);
    parts.push(header(encoder.encode('pax'), bytes.length, 0o644, 'x'), padded);
  }
  parts.push(header(name, size, executable ? 0o755 : 0o644, '0'));
  return parts;
}

// What stands after a file's bytes.
export const tarPadding = (size: number) => new Uint8Array((kBlock - (size % kBlock)) % kBlock);
// What stands at the end.
export const tarEnd = () => new Uint8Array(2 * kBlock);
