import type {ComponentChildren} from 'preact';
import {DialogHost, Icon, Menu, toast, ToastHost} from '../design';
import {path, paths} from './router';
import {caller, isReadOnly, mayAdminister, maySubmit, signOut} from './session';
import {theme, themeChoice, type ThemeChoice} from './theme';

function NavLink({href, active, children}: {href: string; active: boolean; children: ComponentChildren}) {
  return (
    <a class="nav-link" href={href} aria-current={active ? 'page' : undefined}>
      {children}
    </a>
  );
}

const kThemes: {value: ThemeChoice; label: string}[] = [
  {value: 'system', label: 'Same as system'},
  {value: 'light', label: 'Light'},
  {value: 'dark', label: 'Dark'},
];

function ThemeMenu() {
  return (
    <Menu label="Theme" icon={theme.value === 'dark' ? 'moon' : 'sun'}>
      {kThemes.map(({value, label}) => (
        <button type="button" role="menuitemradio" aria-checked={themeChoice.value === value} onClick={() => (themeChoice.value = value)}>
          {label}
        </button>
      ))}
    </Menu>
  );
}

function AccountMenu() {
  const who = caller.value;
  if (!who?.tokensRequired) return null;
  return (
    <Menu label={`Account ${who.name}`} icon="user">
      <p class="menu-note">
        {who.name || 'Signed in'} · {who.role.toLowerCase()}
      </p>
      <a role="menuitem" href="/projects">
        Projects
      </a>
      {mayAdminister() && (
        <a role="menuitem" href="/tokens">
          Tokens
        </a>
      )}
      <button type="button" role="menuitem" onClick={() => void signOut().catch((problem: Error) => toast(`You are still logged in: ${problem.message}`))}>
        Log out
      </button>
    </Menu>
  );
}

export function Shell({children}: {children: ComponentChildren}) {
  const here = path.value;
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <div class="top-inner">
          <a class="brand" href={paths.home} aria-label="Winnow: jobs">
            <Icon name="winnow" />
            <span>winnow</span>
          </a>
          {here !== paths.login && (
            <nav aria-label="Pages">
              <NavLink href={paths.home} active={here === '/' || here.startsWith('/jobs/')}>
                Jobs
              </NavLink>
              <NavLink href="/compare" active={here === '/compare'}>
                Compare
              </NavLink>
              <NavLink href={paths.workers} active={here === paths.workers}>
                Workers
              </NavLink>
            </nav>
          )}
          <div class="top-end">
            {here !== paths.login && maySubmit() && (
              <a class="button primary small" href={paths.submit()}>
                <Icon name="plus" />
                <span class="wide-only">New job</span>
                <span class="narrow-only sr">New job</span>
              </a>
            )}
            <ThemeMenu />
            <AccountMenu />
          </div>
        </div>
      </header>
      {isReadOnly() && (
        <p class="read-only" role="status">
          Read-only: this server shows an archive and changes nothing.
        </p>
      )}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <DialogHost />
      <ToastHost />
    </>
  );
}
