// Strokes on a grid of 16.
const kPaths = {
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  stop: 'M4.5 4.5h7v7h-7z',
  pause: 'M5.5 4v8M10.5 4v8',
  play: 'M5.5 3.5l6.5 4.5-6.5 4.5z',
  trash: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M6.8 7v4M9.2 7v4',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  repeat: 'M3 8a5 5 0 0 1 8.6-3.4L13 6M13 3v3h-3M13 8a5 5 0 0 1-8.6 3.4L3 10M3 13v-3h3',
  download: 'M8 2.5v8M4.8 7.5L8 10.7l3.2-3.2M3 13.5h10',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  filter: 'M2.5 3.5h11L9.5 8.5v4l-3 1v-5z',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6a2.8 2.8 0 1 0 0-5.6M8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1',
  moon: 'M13 9.6A5.4 5.4 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6z',
  user: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM2.8 13.6c.6-2.6 2.6-4 5.2-4s4.6 1.4 5.2 4',
  edit: 'M3 13l.6-2.8L10.8 3l2.2 2.2l-7.2 7.2zM9.3 4.5l2.2 2.2',
  bell: 'M4 11.5h8l-1-1.8V7a3 3 0 0 0-6 0v2.7zM6.8 13.5h2.4',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  up: 'M8 12.5v-9M4.5 7L8 3.5L11.5 7',
  down: 'M8 3.5v9M4.5 9L8 12.5L11.5 9',
  right: 'M6 3.5L10.5 8L6 12.5',
  left: 'M10 3.5L5.5 8L10 12.5',
  compare: 'M2.5 13.5h11M4.5 13.5v-5M8 13.5v-9M11.5 13.5v-7',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.3v3.6M8 5.1h.01',
  warning: 'M8 2.5l6 11H2zM8 6.8v3M8 11.6h.01',
} as const;

export type IconName = keyof typeof kPaths | 'winnow';

export function Icon({name}: {name: IconName}) {
  if (name === 'winnow') {
    return (
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
        <g fill="var(--pruned)">
          <circle cx="4.5" cy="5" r="1.8" />
          <circle cx="9.5" cy="5" r="1.8" />
          <circle cx="14.5" cy="5" r="1.8" />
          <circle cx="19.5" cy="5" r="1.8" />
          <circle cx="7" cy="11.4" r="1.8" />
        </g>
        <g fill="var(--best)">
          <circle cx="12" cy="11.4" r="1.8" />
          <circle cx="17" cy="11.4" r="1.8" />
          <circle cx="12" cy="18.6" r="2.8" />
        </g>
      </svg>
    );
  }
  return (
    <svg class="icon" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width={name === 'more' ? 2.2 : 1.5} stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={kPaths[name]} />
    </svg>
  );
}
