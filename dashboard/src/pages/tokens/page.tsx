import {useState} from 'preact/hooks';
import {del, post} from '../../api/client';
import {useGet} from '../../api/query';
import {caller, mayAdminister} from '../../app/session';
import {ask, Badge, Button, Card, CopyButton, EmptyState, ErrorState, PageHead, PlainTable, Problem, Skeleton, toast, useForm, useTitle} from '../../design';
import {exactMoment, moment} from '../../format';
import './tokens.css';

interface Token {
  id: string;
  name: string;
  role: 'VIEWER' | 'SUBMITTER' | 'WORKER' | 'ADMIN';
  createTime: string;
  expireTime?: string;
  revokeTime?: string;
  workerProjects: string[];  // a worker's: whose jobs it may run; empty: all
  workerNames: string;       // a worker's: pattern of the workers' names; "": any
}

const kRoles: {value: Token['role']; label: string}[] = [
  {value: 'VIEWER', label: 'viewer: read only'},
  {value: 'SUBMITTER', label: 'submitter: also starts, stops and deletes jobs'},
  {value: 'WORKER', label: 'worker: runs trials'},
  {value: 'ADMIN', label: 'admin: everything'},
];
const kDaySeconds = 86_400;

export default function TokensPage() {
  useTitle('Tokens');
  const {data, error, reload} = useGet<{tokens: Token[]}>('/v1/tokens');
  return (
    <>
      <PageHead title="Tokens" about="Tokens identify users and workers. Only hashes are stored: a secret is shown once." />
      {error ? (
        <div class="card">
          <ErrorState error={error} retry={reload} height={260} />
        </div>
      ) : (
        <div class="grid">
          {mayAdminister() && <NewToken made={reload} />}
          <Card title="All tokens" class="span-8">
            <div class="tokens-room">{data ? <Tokens tokens={data.tokens} changed={reload} /> : <Skeleton height={220} />}</div>
          </Card>
        </div>
      )}
    </>
  );
}

function NewToken({made}: {made(): void}) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Token['role']>('VIEWER');
  const [days, setDays] = useState('');
  const [workerProjects, setWorkerProjects] = useState('');
  const [workerNames, setWorkerNames] = useState('');
  const [secret, setSecret] = useState('');
  const {submit, problem} = useForm(async () => {
    const bound = role === 'WORKER' ? {workerProjects: namesIn(workerProjects), workerNames: workerNames.trim()} : {};
    const answer = await post<{secret: string}>('/v1/tokens', {name, role, validSeconds: String(Math.round(Number(days || 0) * kDaySeconds)), ...bound});
    setSecret(answer.secret);
    setName('');
    made();
  });
  return (
    <Card title="New token" class="span-4">
      <form class="token-form" onSubmit={submit}>
        <label class="field">
          <span>Name</span>
          <input class="input" maxLength={128} required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Role</span>
          <select class="input" value={role} onChange={(event) => setRole(event.currentTarget.value as Token['role'])}>
            {kRoles.map((each) => (
              <option key={each.value} value={each.value}>
                {each.label}
              </option>
            ))}
          </select>
        </label>
        {role === 'WORKER' && (
          <>
            <label class="field">
              <span>Projects whose jobs it runs, with commas; empty: all</span>
              <input class="input" placeholder="default, vision" value={workerProjects} onInput={(event) => setWorkerProjects(event.currentTarget.value)} />
            </label>
            <label class="field">
              <span>Pattern of the workers’ names; empty: any</span>
              <input class="input" placeholder="gpu-*" value={workerNames} onInput={(event) => setWorkerNames(event.currentTarget.value)} />
            </label>
          </>
        )}
        <label class="field">
          <span>Days until it expires; empty: never</span>
          <input class="input" type="number" min={1} max={36_500} value={days} onInput={(event) => setDays(event.currentTarget.value)} />
        </label>
        <Problem text={problem} />
        <Button kind="primary" type="submit">
          Create the token
        </Button>
      </form>
      {secret && (
        <div class="token-secret" role="status">
          <p>Copy it now. It is not shown again.</p>
          <code aria-label="Secret">{secret}</code>
          <div class="row">
            <CopyButton text={() => secret}>Copy the secret</CopyButton>
            <Button small onClick={() => setSecret('')}>
              Done
            </Button>
          </div>
        </div>
      )}
    </Card>
  );
}

const namesIn = (text: string) => text.split(',').map((each) => each.trim()).filter(Boolean);

// What a worker's token is bound to, in words; "": nothing.
function bindingOf({workerProjects, workerNames}: Token): string {
  const projects = workerProjects?.length ? `jobs of ${workerProjects.join(', ')}` : '';
  return [projects, workerNames && `workers ${workerNames}`].filter(Boolean).join('; ');
}

function stateOf(token: Token): 'live' | 'revoked' | 'expired' {
  if (token.revokeTime) return 'revoked';
  return token.expireTime && new Date(token.expireTime).getTime() < Date.now() ? 'expired' : 'live';
}

function Tokens({tokens, changed}: {tokens: Token[]; changed(): void}) {
  const revoke = async (token: Token) => {
    const own = token.id === caller.value?.tokenId;
    const yes = await ask({
      title: `Revoke ${token.name || token.id}?`,
      text: `Calls with it are refused from then on.${own ? ' You are logged in with it.' : ''} This cannot be undone.`,
      confirm: 'Revoke the token',
      danger: true,
      action: () => del(`/v1/tokens/${encodeURIComponent(token.id)}`),
    });
    if (!yes) return;
    toast(`${token.name || token.id} is revoked.`);
    changed();
  };
  if (tokens.length === 0) {
    return (
      <EmptyState title="No tokens" height={200}>
        This server requires none, unless it is started with --require-tokens or TLS.
      </EmptyState>
    );
  }
  return (
    <PlainTable label="Tokens" headings={['Name', 'Role', 'Id', 'State', 'Created', 'Expires', <span class="sr">Actions</span>]}>
      {tokens.map((token) => {
        const state = stateOf(token);
        return (
          <tr key={token.id} aria-label={token.name}>
            <td>{token.name || <span class="quiet">unnamed</span>}</td>
            <td>
              {token.role.toLowerCase()}
              {bindingOf(token) && <div class="quiet">{bindingOf(token)}</div>}
            </td>
            <td>
              <code>{token.id}</code>
            </td>
            <td>
              <Badge tone={state === 'live' ? 'completed' : 'cancelled'}>{state}</Badge>
            </td>
            <td class="nowrap" title={exactMoment(token.createTime)}>
              {moment(token.createTime)}
            </td>
            <td class="nowrap" title={token.expireTime && exactMoment(token.expireTime)}>
              {token.expireTime ? moment(token.expireTime) : 'never'}
            </td>
            <td class="num">
              {state === 'live' && mayAdminister() && (
                <Button small kind="danger" aria-label={`Revoke ${token.name || token.id}`} onClick={() => void revoke(token)}>
                  Revoke
                </Button>
              )}
            </td>
          </tr>
        );
      })}
    </PlainTable>
  );
}
