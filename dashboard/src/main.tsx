import {render} from 'preact';
import {App} from './app/app';
import {startRouter} from './app/router';
import {startSession} from './app/session';
import {startTheme} from './app/theme';
import './design/tokens.css';
import './design/base.css';
import './design/components.css';
import './design/overlays.css';
import './design/table.css';
import './charts/charts.css';

startTheme();
startRouter();
startSession();
render(<App />, document.getElementById('app')!);
