import {useEffect, useState} from 'preact/hooks';
import type {TuningJob} from '../../api/types';
import {paths, go} from '../../app/router';
import {Button, toast} from '../../design';
import {number, word} from '../../format';
import {isLive} from '../job_words';

// Offers a notification of the browser at the job's end, as long as this page is open.
export function NotifyButton({job}: {job: TuningJob}) {
  const [wanted, setWanted] = useState(false);
  const live = isLive(job);
  useEffect(() => {
    if (!wanted || live) return;
    setWanted(false);
    const best = job.best ? `Best ${job.spec.objective.metric}: ${number(job.best.objective)}, trial ${job.best.trial}.` : '';
    const shown = new Notification(`${job.id} ${word(job.state)}`, {body: [best, job.stateReason].filter(Boolean).join(' '), tag: `winnow ${job.id}`});
    shown.onclick = () => {
      window.focus();
      go(paths.job(job.id));
    };
  }, [wanted, live]);
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
