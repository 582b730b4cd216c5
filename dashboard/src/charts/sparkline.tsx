import {extent} from './scale';

// A small stair without axes; `label` says it in words.
export function Sparkline({x, y, label, width = 160, height = 36}: {x: number[]; y: number[]; label: string; width?: number; height?: number}) {
  const xs = extent(x);
  const ys = extent(y);
  if (!xs || !ys) return <svg width={width} height={height} role="img" aria-label="No value yet" />;
  const pad = 4;
  const px = (value: number) => pad + ((value - xs[0]) / (xs[1] - xs[0] || 1)) * (width - 2 * pad);
  const py = (value: number) => (ys[1] === ys[0] ? height / 2 : height - pad - ((value - ys[0]) / (ys[1] - ys[0])) * (height - 2 * pad));
  let path = '';
  let last = '';
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i])) continue;
    const place = `${px(x[i]).toFixed(1)}`;
    const level = `${py(y[i]).toFixed(1)}`;
    path += path ? `H${place}V${level}` : `M${place},${level}`;
    last = `${place},${level}`;
  }
  const [lastX, lastY] = last.split(',');
  return (
    <svg class="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <path d={`${path}V${height - 1}H${path.slice(1).split(',')[0]}Z`} fill="var(--accent-soft)" opacity="0.7" />
      <path d={path} fill="none" stroke="var(--accent)" stroke-width="1.75" stroke-linejoin="round" />
      <circle cx={lastX} cy={lastY} r="2.75" fill="var(--best)" />
    </svg>
  );
}
