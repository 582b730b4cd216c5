import {useState} from 'preact/hooks';
import {isReadOnly} from '../../app/session';
import {saveFile} from '../../csv';
import {Button, toast} from '../../design';
import {percent} from '../../format';
import {modelArchive} from './fetch';

// Downloads the model files of a trial as one archive.
export function ModelButton({job, trial, label, disabled = false}: {job: string; trial: number; label: string; disabled?: boolean}) {
  const [state, setState] = useState('');
  const save = async () => {
    setState('Fetching');
    try {
      const archive = await modelArchive(job, trial, (part) => setState(percent(part)));
      saveFile(`${job}-trial-${trial}-model.tar`, 'application/x-tar', [archive]);
    } catch (error) {
      toast((error as Error).message);
    }
    setState('');
  };
  if (isReadOnly()) return null;
  return (
    <Button small icon="download" disabled={disabled || state !== ''} title={`Download the model files of trial ${trial} as a tar archive`} onClick={() => void save()}>
      {state || label}
    </Button>
  );
}
