import {useState} from 'preact/hooks';
import {del, post} from '../../api/client';
import {useGet} from '../../api/query';
import type {Project} from '../../api/types';
import {caller, mayAdminister, maySubmit} from '../../app/session';
import {paths} from '../../app/router';
import {ask, Button, Card, EmptyState, ErrorState, PageHead, PlainTable, Problem, Skeleton, toast, useForm, useTitle} from '../../design';
import {counted} from '../../format';
import {ChangeQuota, Quotas} from './quotas';
import './projects.css';

const urlOf = (project: string, person?: string) =>
  `/v1/projects/${encodeURIComponent(project)}${person === undefined ? '' : `/members/${encodeURIComponent(person)}`}`;

export default function ProjectsPage() {
  useTitle('Projects');
  const {data, error, reload: reloadProjects} = useGet<{projects: Project[]}>('/v1/projects');
  const {data: rest, reload: reloadRest} = useGet<Project>(mayAdminister() ? '/v1/projects/default' : null);
  const reload = () => {
    reloadProjects();
    reloadRest();
  };
  return (
    <>
      <PageHead title="Projects" about="Only the members of a project, and admins, see its jobs. Everyone is a member of the default project." />
      {error ? (
        <div class="card">
          <ErrorState error={error} retry={reload} height={260} />
        </div>
      ) : (
        <div class="grid">
          {mayAdminister() && <NewProject made={reload} />}
          {!data && <Skeleton height={220} />}
          {data?.projects.length === 0 && (
            <div class="card span-8">
              <EmptyState title="No projects" height={200}>
                {mayAdminister() ? 'All jobs belong to the default project.' : 'You are a member of the default project only.'}
              </EmptyState>
            </div>
          )}
          {data?.projects.map((project) => <ProjectCard key={project.name} project={project} changed={reload} />)}
          {rest && (
            <Card title="The default project" class="span-8">
              <Quotas project={rest} />
              <ChangeQuota project={rest} changed={reload} />
            </Card>
          )}
        </div>
      )}
    </>
  );
}

function NewProject({made}: {made(): void}) {
  const [name, setName] = useState('');
  const {submit, problem} = useForm(async () => {
    await post<Project>('/v1/projects', {name});
    setName('');
    made();
  });
  return (
    <Card title="New project" class="span-4">
      <form class="project-form" onSubmit={submit}>
        <label class="field">
          <span>Name: lower-case letters, digits and “-”</span>
          <input class="input" maxLength={40} required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <Problem text={problem} />
        <Button kind="primary" type="submit">
          Create the project
        </Button>
      </form>
    </Card>
  );
}

function ProjectCard({project, changed}: {project: Project; changed(): void}) {
  const {name, members, jobs} = project;
  const mayManage = mayAdminister() || (maySubmit() && !!caller.value?.ledProjects?.includes(name));
  const remove = async () => {
    const yes = await ask({
      title: `Delete project ${name}?`,
      text: 'Its members lose it. A project that has jobs cannot be deleted.',
      confirm: 'Delete the project',
      danger: true,
      action: () => del(urlOf(name)),
    });
    if (!yes) return;
    toast(`Project ${name} is deleted.`);
    changed();
  };
  return (
    <Card title={name} class="span-8">
      <p>
        <a href={paths.project(name)}>{counted(jobs, 'job')}</a>
      </p>
      {members.length > 0 && <Members project={project} mayManage={mayManage} changed={changed} />}
      {mayManage && <NewMember project={name} made={changed} />}
      <Quotas project={project} />
      {mayManage && <ChangeQuota project={project} changed={changed} />}
      {mayAdminister() && (
        <Button small kind="danger" aria-label={`Delete project ${name}`} onClick={() => void remove()}>
          Delete
        </Button>
      )}
    </Card>
  );
}

function Members({project: {name, members}, mayManage, changed}: {project: Project; mayManage: boolean; changed(): void}) {
  const remove = async (person: string) => {
    const yes = await ask({
      title: `Remove ${person} from ${name}?`,
      text: 'They do not see its jobs from then on.',
      confirm: 'Remove the member',
      danger: true,
      action: () => del(urlOf(name, person)),
    });
    if (!yes) return;
    toast(`${person} is no longer a member of ${name}.`);
    changed();
  };
  return (
    <PlainTable label={`Members of ${name}`} headings={['Member', 'May', mayManage && <span class="sr">Actions</span>]}>
      {members.map(({person, leads}) => (
        <tr key={person} aria-label={person}>
          <td>{person}</td>
          <td>{leads ? 'change all its jobs and its members' : 'see all its jobs, change their own'}</td>
          {mayManage && (
            <td class="num">
              <Button small kind="danger" aria-label={`Remove ${person} from ${name}`} onClick={() => void remove(person)}>
                Remove
              </Button>
            </td>
          )}
        </tr>
      ))}
    </PlainTable>
  );
}

function NewMember({project, made}: {project: string; made(): void}) {
  const [person, setPerson] = useState('');
  const [leads, setLeads] = useState(false);
  const {submit, problem} = useForm(async () => {
    await post<Project>(`${urlOf(project)}/members`, {person, leads});
    setPerson('');
    setLeads(false);
    made();
  });
  return (
    <form class="project-member" aria-label={`New member of ${project}`} onSubmit={submit}>
      <label class="field">
        <span>Name of their tokens</span>
        <input class="input" maxLength={128} required value={person} onInput={(event) => setPerson(event.currentTarget.value)} />
      </label>
      <label class="project-leads">
        <input type="checkbox" checked={leads} onChange={(event) => setLeads(event.currentTarget.checked)} />
        <span>leads the project</span>
      </label>
      <Button small type="submit">
        Add the member
      </Button>
      <Problem text={problem} />
    </form>
  );
}
