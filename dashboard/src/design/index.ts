export * from './basics';
export * from './icons';
export * from './overlays';
export * from './table';
