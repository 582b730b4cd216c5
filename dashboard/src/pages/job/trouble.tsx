import {jobPath} from '../../api/calls';
import {useGet} from '../../api/query';
import type {TuningJob} from '../../api/types';
import {paths} from '../../app/router';
import {Icon} from '../../design';
import {count, counted} from '../../format';
import {stateFilter} from './filters';

const kShownReasons = 4;

// What looks wrong with the job, and why trials of it failed. Nothing where all is well.
export function Trouble({job}: {job: TuningJob}) {
  const failed = job.trialCounts.failed;
  // The job that a stream of events tells of has no reasons.
  const answer = useGet<TuningJob>(failed > 0 ? jobPath(job.id) : null, {}, {version: failed});
  const groups = answer.data?.failures ?? job.failures ?? [];
  const notices = job.notices ?? [];
  if (failed === 0 && notices.length === 0) return null;
  const rest = failed - groups.slice(0, kShownReasons).reduce((sum, group) => sum + group.trials, 0);
  return (
    <section class="trouble" aria-label="What needs attention">
      {notices.map((notice) => (
        <p key={notice.kind} class="notice">
          <Icon name="warning" />
          <span>
            {notice.text} {notice.trial > 0 && <a href={paths.trial(job.id, notice.trial)}>Trial {count(notice.trial)}</a>}
          </span>
        </p>
      ))}
      {failed > 0 && (
        <div class="notice failures">
          <Icon name="warning" />
          <div>
            <a href={paths.job(job.id, {f: [stateFilter('failed')], part: 'trials'})}>{counted(failed, 'trial')} failed</a>
            {groups.length > 0 && (
              <ul>
                {groups.slice(0, kShownReasons).map((group) => (
                  <li key={group.reason}>
                    <strong>{count(group.trials)} ×</strong> <span class="failure-reason">{group.reason}</span>{' '}
                    <a class="nowrap" href={paths.trial(job.id, group.firstTrial)}>
                      trial {count(group.firstTrial)}
                    </a>
                  </li>
                ))}
                {rest > 0 && groups.length > kShownReasons && <li>{count(rest)} for other reasons</li>}
              </ul>
            )}
          </div>
        </div>
      )}
    </section>
  );
}
