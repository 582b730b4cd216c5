import type {Annotation} from '../../api/types';

// Tags as people type them. Pure.

const kMostTags = 32;
const kTag = /^[A-Za-z0-9_.:/-]{1,64}$/;

// `problem`: why the server would refuse them; "": it would not.
export function parseTags(text: string): {tags: string[]; problem: string} {
  const tags = [...new Set(text.split(/[\s,]+/).filter(Boolean))].sort();
  const wrong = tags.find((tag) => !kTag.test(tag));
  if (wrong !== undefined) return {tags, problem: `"${wrong}" is no tag: expected at most 64 letters (A to Z, a to z), digits and - _ . : /`};
  return {tags, problem: tags.length > kMostTags ? `${tags.length} tags; at most ${kMostTags} fit.` : ''};
}

// What somebody has written since `known`, said to whoever is about to replace it; "": nothing.
export function changedText(known: Annotation | undefined, now: Annotation | undefined): string {
  const textOf = (annotation: Annotation | undefined) => [
    annotation?.tags.length ? `tags ${annotation.tags.join(' ')}` : 'no tags',
    annotation?.note ? `note "${annotation.note}"` : 'no note',
  ].join(', ');
  if (textOf(known) === textOf(now)) return '';
  return `${now?.author || 'Somebody'} has changed them meanwhile: ${textOf(now)}. Save again to replace that.`;
}
