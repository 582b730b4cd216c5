export * from './basics';
export * from './form';
export * from './icons';
export * from './overlays';
export * from './table';
