import {goodnessStops} from '../../charts/color';

// What the colours of a ramp mean, from `low` to `high`.
export function Ramp({low, high}: {low: string; high: string}) {
  return (
    <p class="ramp quiet">
      {low}
      <i aria-hidden="true" style={{background: `linear-gradient(90deg, ${goodnessStops().join(', ')})`}} />
      {high}
    </p>
  );
}
