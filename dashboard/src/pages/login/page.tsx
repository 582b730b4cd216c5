import {useEffect, useRef, useState} from 'preact/hooks';
import {ApiError} from '../../api/client';
import {go, param} from '../../app/router';
import {caller, learnCaller, signIn, signOut} from '../../app/session';
import {Button, Icon, LinkButton, useTitle} from '../../design';
import {destination} from './destination';
import {providerOfServer, whyRefused} from './provider';
import './login.css';

export default function LoginPage() {
  const next = destination(param('to'));
  const who = caller.value;
  const [provider, setProvider] = useState<string>();  // "": none; undefined until the server has said it
  useTitle('Log in');
  useEffect(() => {
    if (!caller.value) void learnCaller();
    void providerOfServer().then(setProvider);
  }, []);
  return (
    <div class="login">
      <div class="login-mark">
        <Icon name="winnow" />
      </div>
      {who ? <SignedIn name={who.name} role={who.role} open={!who.tokensRequired} next={next} /> : provider !== undefined && <LogIn provider={provider} next={next} />}
    </div>
  );
}

function SignedIn({name, role, open, next}: {name: string; role: string; open: boolean; next: string}) {
  return (
    <div class="card login-card">
      <h1>{open ? 'No login is needed' : 'You are logged in'}</h1>
      <p class="muted">
        {open
          ? 'This server was started without tokens: anyone who can reach it may use it.'
          : `As ${name || 'a caller without a name'}, with the role ${role.toLowerCase()}.`}
      </p>
      <div class="row">
        <LinkButton kind="primary" href={next}>
          Continue
        </LinkButton>
        {!open && <Button onClick={() => void signOut()}>Log out</Button>}
      </div>
    </div>
  );
}

function LogIn({provider, next}: {provider: string; next: string}) {
  if (!provider) return <TokenForm next={next} alone />;
  const refused = whyRefused(param('refused'));
  return (
    <>
      <div class="card login-card">
        <h1>Log in to Winnow</h1>
        {refused && (
          <p class="login-problem" role="alert">
            {refused}
          </p>
        )}
        <LinkButton kind="primary" href={`/sign-in?to=${encodeURIComponent(next)}`}>
          Sign in with {provider}
        </LinkButton>
      </div>
      <details class="login-token">
        <summary>Log in with a token</summary>
        <TokenForm next={next} />
      </details>
    </>
  );
}

// `alone`: there is no other way to log in.
function TokenForm({next, alone}: {next: string; alone?: boolean}) {
  const [token, setToken] = useState('');
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (!token.trim()) {
      setProblem('Paste a token: it begins with wnw_.');
      return;
    }
    setBusy(true);
    setProblem('');
    try {
      await signIn(token.trim());
      go(next, {replace: true});
    } catch (error) {
      const refused = error instanceof ApiError && error.status === 401;
      setProblem(refused ? 'The server rejects this token: it is mistyped, expired or revoked.' : (error as Error).message);
      setBusy(false);
      field.current?.select();
    }
  };
  return (
    <form class="card login-card" onSubmit={submit} aria-label="Log in">
      {alone && <h1>Log in to Winnow</h1>}
      <p class="muted">{alone ? 'This server requires a token. An' : 'An'} admin can create one for you:</p>
      <pre class="code" tabIndex={0} aria-label="Command that creates a token">
        winnow token create --role viewer
      </pre>
      <label class="field">
        <span>Token</span>
        <input
          ref={field}
          class="input mono"
          type={(shown ? 'text' : 'password') as 'password'}
          name="token"
          autocomplete="current-password"
          autocapitalize="off"
          spellcheck={false}
          placeholder="wnw_…"
          value={token}
          aria-invalid={problem !== ''}
          aria-describedby="login-problem"
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      <label class="login-show">
        <input type="checkbox" checked={shown} onChange={(event) => setShown(event.currentTarget.checked)} /> Show it
      </label>
      <p class="login-problem" id="login-problem" role="alert">
        {problem}
      </p>
      <Button kind="primary" type="submit" disabled={busy}>
        {busy ? 'Logging in …' : 'Log in'}
      </Button>
    </form>
  );
}
