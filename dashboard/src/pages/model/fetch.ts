import {trialPath} from '../../api/calls';
import {ApiError, get, request} from '../../api/client';
import {SseParser} from '../../api/sse';
import {tarEnd, tarHead, tarPadding} from './tar';

interface Artifact {
  manifest: {files: {path: string; size: string | number; executable: boolean; blobs: {digest: string; size: string | number}[]}[]};
}

// A model that is on a worker comes to the server when it is asked for.
const kPatienceMs = 30_000;
const kBetweenLooksMs = 1000;

async function artifactOf(job: string, trial: number): Promise<Artifact> {
  const until = performance.now() + kPatienceMs;
  for (;;) {
    try {
      return await get<Artifact>(`${trialPath(job, trial)}/artifact`, {kind: 'MODEL'});
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404 || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, kBetweenLooksMs));
    }
  }
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// A blob comes in parts, as events.
async function blobOf(digest: string, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const response = await request(`/v1/blobs/${digest}`, {headers: {Accept: 'text/event-stream'}});
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new SseParser();
  const bytes = new Uint8Array(size);
  let at = 0;
  for (let over = false; !over; ) {
    const {value, done} = await reader.read();
    over = done;
    for (const event of value ? parser.push(value) : []) {
      if (event.event === 'error') throw new Error((JSON.parse(event.data) as {message?: string}).message ?? 'the server ended the download');
      if (event.event !== 'message') continue;
      const part = atob((JSON.parse(event.data) as {data?: string}).data ?? '');
      if (at + part.length > size) throw new Error('a file is longer than the server said');
      for (let i = 0; i < part.length; i++) bytes[at++] = part.charCodeAt(i);
    }
  }
  if (at !== size) throw new Error('a file ended early; try again');
  // Without TLS, and not on this machine, a page cannot compute digests.
  if (crypto.subtle && (await digestOf(bytes)) !== digest) throw new Error('a file is damaged: it does not match its digest');
  return bytes;
}

// The trial's model files as a tar archive. `progress`: the part of its bytes that has come, 0 to 1.
export async function modelArchive(job: string, trial: number, progress: (part: number) => void): Promise<Blob> {
  const {manifest} = await artifactOf(job, trial);
  const whole = manifest.files.reduce((sum, file) => sum + Number(file.size), 0);
  let come = 0;
  const parts: BlobPart[] = [];
  for (const file of manifest.files) {
    const size = Number(file.size);
    parts.push(...tarHead(file.path, size, file.executable));
    for (const blob of file.blobs) {
      // A Blob may leave memory for the browser's disk; an array does not.
      parts.push(new Blob([await blobOf(blob.digest, Number(blob.size))]));
      come += Number(blob.size);
      progress(whole > 0 ? come / whole : 1);
    }
    parts.push(tarPadding(size));
  }
  parts.push(tarEnd());
  return new Blob(parts, {type: 'application/x-tar'});
}
