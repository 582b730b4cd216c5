import type {ComponentType} from 'preact';
import {jobPath} from '../api/calls';
import {fetchEarly} from '../api/query';
import {sieveQuestion} from '../pages/job/sieve_question';
import {params} from './router';

// Each page is a module of its own, loaded when it is first shown. What the pattern names is the page's properties.
export interface Route {
  pattern: string;
  load(): Promise<{default: ComponentType<any>}>;
  // Asks for what the page will ask for first, while it is loaded: what takes longest does not wait for anything.
  early?(values: Record<string, string>): void;
}

function askForJob(id: string): void {
  fetchEarly(...sieveQuestion(id, params('f')));
  fetchEarly(jobPath(id));
}

export const kRoutes: Route[] = [
  {pattern: '/', load: () => import('../pages/home/page')},
  {pattern: '/jobs/:id', load: () => import('../pages/job/page'), early: ({id}) => askForJob(id)},
  {pattern: '/jobs/:id/compare', load: () => import('../pages/trials/page')},
  {pattern: '/jobs/:id/trials/:trial', load: () => import('../pages/trial/page')},
  {pattern: '/compare', load: () => import('../pages/compare/page')},
  {pattern: '/workers', load: () => import('../pages/workers/page')},
  {pattern: '/login', load: () => import('../pages/login/page')},
  {pattern: '/projects', load: () => import('../pages/projects/page')},
  {pattern: '/tokens', load: () => import('../pages/tokens/page')},
  {pattern: '/new', load: () => import('../pages/submit/page')},
];
