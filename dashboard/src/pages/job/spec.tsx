import type {TuningJob} from '../../api/types';
import {paths} from '../../app/router';
import {maySubmit} from '../../app/session';
import {saveFile} from '../../csv';
import {Button, Card, CopyButton, LinkButton} from '../../design';
import {jobFileText} from './job_file';

export function SpecCard({job}: {job: TuningJob}) {
  const text = () => jobFileText(job.rawSpec);
  return (
    <Card
      id="spec"
      title="Job file"
      hint="as submitted, without defaults"
      actions={
        <div class="row">
          <CopyButton text={text}>Copy as job file</CopyButton>
          <Button small icon="download" onClick={() => saveFile(`${job.spec.name}.json`, 'application/json', [text()])}>
            Save
          </Button>
          {maySubmit() && (
            <LinkButton small icon="repeat" href={paths.submit(job.id)}>
              Run again with changes
            </LinkButton>
          )}
        </div>
      }
    >
      <pre class="code spec" tabIndex={0}>
        {text()}
      </pre>
      {job.warmStartText && <p class="quiet card-note">{job.warmStartText}</p>}
    </Card>
  );
}
