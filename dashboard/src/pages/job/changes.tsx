import type {TuningJob} from '../../api/types';
import {Card} from '../../design';
import {exactMoment} from '../../format';

// What people have changed in the job, newest first. Nothing where they have changed nothing.
export function ChangesCard({job}: {job: TuningJob}) {
  const changes = job.changes ?? [];
  if (changes.length === 0) return null;
  return (
    <Card id="changes" title="Changes" hint="what people have changed since it was submitted">
      <dl class="changes">
        {[...changes].reverse().map((change) => (
          <div key={change.time}>
            <dt class="quiet nowrap">{exactMoment(change.time)}</dt>
            <dd>{change.text}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
