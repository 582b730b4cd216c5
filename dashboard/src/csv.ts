// What a spreadsheet would take for a formula. A number is none, whatever its sign.
function isFormula(text: string): boolean {
  return /^[=+\-@\t\r]/.test(text) && !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text);
}

// RFC 4180: a field with a comma, a quote or a line's end is quoted. A text that a spreadsheet would run as a formula has a ' before it.
export function csvField(value: string | number | undefined | null): string {
  if (value === undefined || value === null) return '';
  const plain = String(value);
  const text = typeof value === 'string' && isFormula(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csvLine(values: readonly (string | number | undefined | null)[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

// Gives the browser a file to keep.
export function saveFile(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, {type}));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
