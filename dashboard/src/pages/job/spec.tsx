import type {Source, TuningJob} from '../../api/types';
import {paths} from '../../app/router';
import {maySubmit} from '../../app/session';
import {saveFile} from '../../csv';
import {Button, Card, CopyButton, LinkButton} from '../../design';
import {count} from '../../format';
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
      {job.source && <SourceNote source={job.source} />}
      {job.warmStartText && <p class="quiet card-note">{job.warmStartText}</p>}
    </Card>
  );
}

function SourceNote({source}: {source: Source}) {
  return (
    <p class="quiet card-note">
      Source <code title={source.digest}>{source.digest.slice(0, 12)}</code>: {count(source.files)} files of {count(source.size)} bytes,{' '}
      {source.gitCommit ? (
        <>
          git commit <code title={source.gitCommit}>{source.gitCommit.slice(0, 12)}</code>
          {source.gitDirty && ' with changes'}
        </>
      ) : (
        'not in a git repository'
      )}
    </p>
  );
}
