import {useState} from 'preact/hooks';
import {saveFile} from '../csv';
import {csvText, type DataTable, jsonText} from '../data_table';
import {Menu, toast} from '../design';

interface Props {
  name: string;  // of the file, without its ending
  // `progress` may be called meanwhile.
  table(progress: (text: string) => void): DataTable | Promise<DataTable>;
}

// Saves the data of a chart or of a table as a file.
export function Download({name, table}: Props) {
  const [busy, setBusy] = useState('');
  const save = async (ending: 'csv' | 'json') => {
    setBusy('Fetching');
    try {
      const data = await table(setBusy);
      const text = ending === 'csv' ? csvText(data) : jsonText(data);
      saveFile(`${name.replace(/[^\w.-]+/g, '-')}.${ending}`, ending === 'csv' ? 'text/csv' : 'application/json', [text]);
    } catch (error) {
      toast(`The download failed: ${(error as Error).message}`);
    }
    setBusy('');
  };
  return (
    <Menu label={`Download the data of ${name}`} icon="download" text={busy || undefined}>
      <button type="button" role="menuitem" onClick={() => void save('csv')}>
        Data as CSV
      </button>
      <button type="button" role="menuitem" onClick={() => void save('json')}>
        Data as JSON
      </button>
    </Menu>
  );
}
