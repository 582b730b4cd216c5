// The end of a log, bounded however much is printed: lines in blocks, of which the oldest go.
export const kBlockLines = 200;
const kMostBlocks = 50;
// A line without an end is cut here.
const kLongestLine = 4000;

export interface Block {
  id: number;  // rising; that of the last block stays while it grows
  text: string;
  lines: number;
}

export class LogText {
  blocks: Block[] = [];
  dropped = 0;  // lines that went
  private decoder = new TextDecoder();
  private column = 0;
  private held = '';

  get empty(): boolean {
    return this.blocks.length === 0;
  }

  push(bytes: Uint8Array): void {
    // Progress bars return to the line's start: each turn is shown as a line.
    let text = this.held + this.decoder.decode(bytes, {stream: true});
    this.held = text.endsWith('\r') ? '\r' : '';  // what follows says whether it ends a line
    if (this.held) text = text.slice(0, -1);
    text = text.replace(/\r\n?/g, '\n');
    for (let at = 0; at < text.length; ) {
      const end = text.indexOf('\n', at);
      const stop = Math.min(end < 0 ? text.length : end + 1, at + kLongestLine - this.column);
      const piece = text.slice(at, stop);
      this.append(piece.endsWith('\n') ? piece : piece + (this.column + piece.length >= kLongestLine ? '\n' : ''));
      at = stop;
    }
  }

  private append(piece: string): void {
    let last = this.blocks[this.blocks.length - 1];
    if (!last || last.lines >= kBlockLines) {
      last = {id: (last?.id ?? 0) + 1, text: '', lines: 0};
      this.blocks.push(last);
      if (this.blocks.length > kMostBlocks) this.dropped += this.blocks.shift()!.lines;
    }
    last.text += piece;
    if (piece.endsWith('\n')) {
      last.lines++;
      this.column = 0;
    } else {
      this.column += piece.length;
    }
  }
}

export function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
