import {useRef} from 'preact/hooks';
import type {Axis} from '../../api/types';
import {isDiscrete, valueAt} from '../../charts/axis';
import {clamp} from '../../charts/scale';
import {number} from '../../format';
import {filterFrom, toggled} from './brush';
import type {Filter} from './filters';

// A drag shorter than this is a click, px.
const kClickPx = 4;
const kKeyStep = 0.02;

interface Props {
  axis: Axis;
  title: string;
  x: number;
  top: number;
  bottom: number;
  room: number;  // to the next axis, px
  last: boolean;
  spans: [number, number][];
  filter: Filter | null;
  onDrag(from: number | null, to?: number): void;
  onChange(filter: Filter | null, replace: boolean): void;
}

type Grip = 'new' | 'low' | 'high' | 'move';

// One axis to be brushed: by dragging along it, by its two ends with the arrow keys, or by clicking on one of its values.
export function AxisBrush({axis, title, x, top, bottom, room, last, spans, filter, onDrag, onChange}: Props) {
  const drag = useRef<{grip: Grip; start: number; from: number; to: number; moved: boolean} | null>(null);
  const height = bottom - top;
  const discrete = isDiscrete(axis);
  const low = spans.length ? spans[0][0] : 0;
  const high = spans.length ? spans[spans.length - 1][1] : 1;
  const place = (event: PointerEvent) => {
    const bounds = (event.currentTarget as HTMLElement).closest('.axis-brush')!.getBoundingClientRect();
    return clamp(1 - (event.clientY - bounds.top) / height, 0, 1);
  };
  const down = (grip: Grip) => (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.stopPropagation();
    event.preventDefault();
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const at = place(event);
    drag.current = {grip, start: at, from: grip === 'new' ? at : low, to: grip === 'new' ? at : high, moved: false};
  };
  const move = (event: PointerEvent) => {
    const state = drag.current;
    if (!state) return;
    event.stopPropagation();
    const at = place(event);
    if (!state.moved && Math.abs(at - state.start) * height < kClickPx) return;
    state.moved = true;
    if (state.grip === 'low') state.from = at;
    else if (state.grip === 'high' || state.grip === 'new') state.to = at;
    else {
      const by = clamp(at - state.start, -low, 1 - high);
      state.from = low + by;
      state.to = high + by;
      state.start = at;
    }
    onDrag(state.from, state.to);
  };
  const up = (event: PointerEvent) => {
    const state = drag.current;
    drag.current = null;
    if (!state) return;
    event.stopPropagation();
    onDrag(null);
    if (state.moved) onChange(filterFrom(axis, state.from, state.to), false);
    else if (discrete) onChange(toggled(axis, filter, state.start), false);
    else if (filter) onChange(null, false);
  };
  const cancel = () => {
    drag.current = null;
    onDrag(null);
  };
  const step = discrete ? 1 / axis.values.length : axis.kind === 'integer' && axis.scaling === 'linear' ? Math.max(kKeyStep, 1 / Math.max(1, axis.max - axis.min)) : kKeyStep;
  const keys = (end: 'low' | 'high') => (event: KeyboardEvent) => {
    if (event.key === 'Escape' || event.key === 'Delete') {
      onChange(null, false);
      return;
    }
    const by = event.key === 'ArrowUp' ? step : event.key === 'ArrowDown' ? -step : event.key === 'PageUp' ? step * 5 : event.key === 'PageDown' ? -step * 5 : 0;
    if (!by) return;
    event.preventDefault();
    const from = end === 'low' ? clamp(low + by, 0, high - (discrete ? step : 0)) : low;
    const to = end === 'high' ? clamp(high + by, low + (discrete ? step : 0), 1) : high;
    onChange(filterFrom(axis, from, to), true);
  };
  const textAt = (position: number) => (discrete ? axis.values[clamp(Math.floor(position * axis.values.length), 0, axis.values.length - 1)] : number(valueAt(axis, position), 4));
  const handlers = (grip: Grip) => ({onPointerDown: down(grip), onPointerMove: move, onPointerUp: up, onPointerCancel: cancel});
  const labelWidth = Math.max(60, Math.min(room - 8, 190));
  return (
    <>
      <div class={`axis-name${last ? ' objective' : ''}`} title={title} style={{left: `${x - labelWidth / 2}px`, width: `${labelWidth}px`}}>
        {title}
      </div>
      <div class={`axis-brush${filter ? ' filtered' : ''}`} style={{left: `${x - 16}px`, top: `${top}px`, height: `${height}px`}} {...handlers('new')}>
        {spans.map(([from, to], i) => (
          <div key={i} class="brush-span" style={{top: `${(1 - to) * height}px`, height: `${Math.max(3, (to - from) * height)}px`}} {...(discrete ? {} : handlers('move'))} />
        ))}
        {(['high', 'low'] as const).map((end) => (
          <div
            key={end}
            class={`brush-end ${end}`}
            role="slider"
            tabIndex={0}
            aria-label={`${title}: ${end === 'low' ? 'minimum' : 'maximum'}`}
            aria-orientation="vertical"
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.round((end === 'low' ? low : high) * 100)}
            aria-valuetext={textAt(end === 'low' ? low : high - (discrete ? 1e-9 : 0))}
            style={{top: `${(1 - (end === 'low' ? low : high)) * height - 6}px`}}
            onKeyDown={keys(end)}
            {...(spans.length && !discrete ? handlers(end) : {})}
          />
        ))}
      </div>
    </>
  );
}
