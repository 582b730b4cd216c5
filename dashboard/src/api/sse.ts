// The lines of server-sent events (WHATWG HTML, 9.2.6), as they come.
export interface SseEvent {
  id: string;     // the last one that was given
  event: string;  // "message" if it was not named
  data: string;
}

export class SseParser {
  private rest = '';
  private id = '';
  private event = '';
  private data: string[] = [];

  // Events that this piece of text completes.
  push(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    this.rest += text;
    for (;;) {
      const end = this.rest.search(/\r\n|\n|\r(?=.)/s);
      if (end < 0) return events;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith('\r\n', end) ? 2 : 1));
      if (line === '') {
        if (this.data.length > 0) events.push({id: this.id, event: this.event || 'message', data: this.data.join('\n')});
        this.event = '';
        this.data = [];
        continue;
      }
      const colon = line.indexOf(':');
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
      if (name === 'data') this.data.push(value);
      else if (name === 'event') this.event = value;
      else if (name === 'id') this.id = value;
    }
  }
}
