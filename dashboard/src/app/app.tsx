import type {ComponentType} from 'preact';
import {useLayoutEffect, useState} from 'preact/hooks';
import {EmptyState, ErrorState, LinkButton, Skeleton} from '../design';
import {match, path, paths} from './router';
import {kRoutes, type Route} from './routes';
import {Shell} from './shell';

interface Shown {
  route: Route;
  page?: ComponentType<any>;
  error?: Error;
}
const loaded = new Map<Route, ComponentType<any>>();

export function App() {
  const here = path.value;
  let found: Route | undefined;
  let values: Record<string, string> = {};
  for (const route of kRoutes) {
    const matched = match(route.pattern, here);
    if (matched) {
      found = route;
      values = matched;
      break;
    }
  }
  const [shown, setShown] = useState<Shown | undefined>(undefined);
  useLayoutEffect(() => {
    if (!found || loaded.has(found)) return;
    const route = found;
    route.early?.(values);
    route.load().then(
      (module) => {
        loaded.set(route, module.default);
        setShown({route, page: module.default});
      },
      (error: Error) => setShown({route, error}),
    );
  }, [found]);

  let content;
  if (!found) {
    content = (
      <EmptyState title="There is no such page" actions={<LinkButton href={paths.home}>Back to jobs</LinkButton>}>
        The address {here} leads nowhere.
      </EmptyState>
    );
  } else if (loaded.has(found)) {
    const Page = loaded.get(found)!;
    // A page of its own for every job and trial: nothing of one is left in the other.
    content = <Page key={here} {...values} />;
  } else if (shown?.route === found && shown.error) {
    content = <ErrorState error={new Error('This part of the page could not be loaded. Was the server updated?')} retry={() => location.reload()} />;
  } else {
    content = <Skeleton height="60vh" />;
  }
  return <Shell>{content}</Shell>;
}
