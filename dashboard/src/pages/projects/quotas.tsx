import {useState} from 'preact/hooks';
import {post} from '../../api/client';
import type {Project, ProjectUse, Quota} from '../../api/types';
import {mayAdminister} from '../../app/session';
import {Button, PlainTable, Problem, toast, useForm} from '../../design';
import {number, percent} from '../../format';

const kQuotas: {has: keyof ProjectUse; most: keyof Quota; field: string; heading: string; label: string; whole: boolean}[] = [
  {has: 'slots', most: 'maxSlots', field: 'max_slots', heading: 'Slots', label: 'Slots at once', whole: true},
  {has: 'gpus', most: 'maxGpus', field: 'max_gpus', heading: 'GPUs', label: 'GPUs at once', whole: false},
  {has: 'runningJobs', most: 'maxRunningJobs', field: 'max_running_jobs', heading: 'Running jobs', label: 'Running jobs', whole: true},
  {has: 'nodeHours', most: 'maxNodeHours', field: 'max_node_hours', heading: 'Node-hours this month', label: 'Node-hours a month', whole: false},
  {has: 'storageGib', most: 'maxStorageGib', field: 'max_storage_gib', heading: 'Stored GiB', label: 'Stored GiB', whole: false},
];

// What a project and its members have, of what they may have.
export function Quotas({project}: {project: Project}) {
  const rows = [{who: 'all', quota: project.quota, use: project.use}, ...project.members.map(({person, quota, use}) => ({who: person, quota, use}))];
  return (
    <>
      <p>
        Weight {number(project.weight)}
        {project.jobClass > 0 && `, class ${project.jobClass}`}
        {(project.share > 0 || project.dueShare > 0) &&
          `; it had ${percent(project.share)} of what all projects have used lately, and its weight gives it ${percent(project.dueShare)}`}
        .
      </p>
      <PlainTable label={`Quotas of ${project.name}`} headings={['Who', ...kQuotas.map(({heading}) => heading)]}>
        {rows.map(({who, quota, use}) => (
          <tr key={who} aria-label={`Quota of ${who}`}>
            <td>{who}</td>
            {kQuotas.map(({has, most}) => (
              <td key={has}>
                {number(use?.[has] ?? 0, 4)}
                {quota && quota[most] > 0 && ` of ${number(quota[most])}`}
              </td>
            ))}
          </tr>
        ))}
      </PlainTable>
    </>
  );
}

// For admins, who change all quotas, and for those who lead the project, who change those of its members.
export function ChangeQuota({project, changed}: {project: Project; changed(): void}) {
  const [person, setPerson] = useState(mayAdminister() ? '' : (project.members[0]?.person ?? ''));
  const quota = person === '' ? project.quota : project.members.find((member) => member.person === person)?.quota;
  const [texts, setTexts] = useState<Record<string, string>>({});
  const choose = (chosen: string) => {
    setPerson(chosen);
    setTexts({});
  };
  const {submit, problem} = useForm(async () => {
    await post<Project>(`/v1/projects/${encodeURIComponent(project.name)}`, {
      person,
      ...Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, Number(text || 0)])),
    });
    toast(`The quota of ${person || project.name} is changed.`);
    setTexts({});
    changed();
  });
  if (!mayAdminister() && project.members.length === 0) return null;
  return (
    <form class="project-quota" aria-label={`Quota in ${project.name}`} onSubmit={submit}>
      <label class="field">
        <span>Quota of</span>
        <select class="input" value={person} onChange={(event) => choose(event.currentTarget.value)}>
          {mayAdminister() && <option value="">the whole project</option>}
          {project.members.map((member) => (
            <option key={member.person} value={member.person}>
              {member.person}
            </option>
          ))}
        </select>
      </label>
      {kQuotas.map(({most, field, label, whole}) => (
        <label key={field} class="field">
          <span>{label}</span>
          <input
            class="input"
            type="number"
            min={0}
            step={whole ? 1 : 'any'}
            placeholder="no limit"
            value={texts[field] ?? (quota && quota[most] > 0 ? String(quota[most]) : '')}
            onInput={(event) => setTexts({...texts, [field]: event.currentTarget.value})}
          />
        </label>
      ))}
      <Button small type="submit">
        Change the quota
      </Button>
      <Problem text={problem} />
    </form>
  );
}
