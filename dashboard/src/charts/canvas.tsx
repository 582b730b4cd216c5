import type {RefObject} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {theme} from '../app/theme';

// The width of an element, px; 0 before it is known.
export function useWidth<E extends HTMLElement>(): [RefObject<E | null>, number] {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(Math.floor(element.clientWidth));
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

interface CanvasProps {
  width: number;
  height: number;
  // In CSS pixels, on a clean canvas.
  draw(context: CanvasRenderingContext2D): void;
  // It is drawn again when one of these changes, or the size, or the theme.
  of: unknown[];
  class?: string;
}
export function Canvas({width, height, draw, of, class: extra}: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (!canvas.current || width < 1) return;
    const context = prepare(canvas.current, width, height);
    draw(context);
  }, [...of, width, height, theme.value]);
  return <canvas ref={canvas} class={extra} aria-hidden="true" style={{width: `${width}px`, height: `${height}px`}} />;
}

// The canvas's context with one unit a CSS pixel, and nothing on it.
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(width * ratio);
  const h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// True once the element has come near the window; what is far below asks nothing until then.
export function useNear<E extends HTMLElement>(): [RefObject<E | null>, boolean] {
  const ref = useRef<E>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (near || !ref.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setNear(true);
      },
      {rootMargin: '500px 0px'},
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [near]);
  return [ref, near];
}
