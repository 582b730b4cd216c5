import {useEffect, useState} from 'preact/hooks';
import {describeJob} from '../../api/calls';
import {ApiError} from '../../api/client';
import type {TuningJob} from '../../api/types';
import {paths, go} from '../../app/router';
import {Button, toast} from '../../design';
import {number, word} from '../../format';
import {isLive} from '../job_words';

// Nothing is followed while nobody looks at the page. Then the job is asked for so often.
const kHiddenMs = 10_000;

// Offers a notification of the browser at the job's end, as long as this page is open.
export function NotifyButton({job}: {job: TuningJob}) {
  const [wanted, setWanted] = useState(false);
  const live = isLive(job);
  const tell = (ended: TuningJob) => {
    setWanted(false);
    const best = ended.best ? `Best ${ended.spec.objective.metric}: ${number(ended.best.objective)}, trial ${ended.best.trial}.` : '';
    const shown = new Notification(`${ended.id} ${word(ended.state)}`, {body: [best, ended.stateReason].filter(Boolean).join(' '), tag: `winnow ${ended.id}`});
    shown.onclick = () => {
      window.focus();
      go(paths.job(ended.id));
    };
  };
  useEffect(() => {
    if (!wanted) return;
    if (!live) return tell(job);
    const abort = new AbortController();
    const look = () =>
      describeJob(job.id, abort.signal).then(
        (now) => !isLive(now) && tell(now),
        (failure) => failure instanceof ApiError && failure.status === 404 && setWanted(false),
      );
    const timer = setInterval(() => document.hidden && void look(), kHiddenMs);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [wanted, live, job.id]);
  // Browsers offer notifications to pages that came over TLS, or from this machine.
  if (!live || typeof Notification === 'undefined' || !window.isSecureContext) return null;
  const toggle = async () => {
    if (wanted) return setWanted(false);
    if ((await Notification.requestPermission()) === 'granted') setWanted(true);
    else toast('The browser does not allow notifications of this page.');
  };
  return (
    <Button small icon={wanted ? 'check' : 'bell'} aria-pressed={wanted} title="A notification of the browser when the job has ended, while this page is open" onClick={() => void toggle()}>
      {wanted ? 'Will notify' : 'Notify me'}
    </Button>
  );
}
