// Made-up answers for looking at pages without a server: one Hyperband job (R = 81, eta = 3) that has ended.
const kParameters = [
  {name: 'learning_rate', continuous: {min: 0.0001, max: 1, scaling: 'LOG'}},
  {name: 'max_depth', integer: {min: '1', max: '12', scaling: 'LINEAR'}},
  {name: 'subsample', continuous: {min: 0.2, max: 1, scaling: 'LINEAR'}},
  {name: 'booster', categorical: {values: ['gbtree', 'dart', 'gblinear']}},
  {name: 'alpha', continuous: {min: 0, max: 2, scaling: 'LINEAR'}},
];
const kMetric = 'validation:auc';
let seed = 7;
const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);

const kBrackets = [[81, 27, 9, 3, 1], [34, 11, 3, 1], [15, 5, 1], [8, 2], [5]];
const trials = [];
kBrackets.forEach((widths, bracket) => {
  const first = 3 ** bracket;
  const own = widths[0];
  const list = Array.from({length: own}, () => {
    const x = [random(), random(), random(), random(), random()];
    const good = 0.79 - 0.06 * (x[0] - 0.55) ** 2 - 0.03 * (x[1] - 0.4) ** 2 - 0.015 * x[4] * (1 - x[2]) - (x[3] > 0.66 ? 0.02 : 0) + 0.004 * random();
    return {number: 0, x, good, bracket, rung: 0, curve: []};
  });
  list.forEach((trial) => trials.push(Object.assign(trial, {number: trials.length + 1})));
  let alive = list;
  widths.forEach((width, rung) => {
    const level = Math.min(81, first * 3 ** rung);
    for (const trial of alive) {
      trial.rung = rung;
      trial.level = level;
      trial.best = trial.good - 0.2 / (level + 2) + 0.003 * random();
    }
    alive = [...alive].sort((a, b) => b.best - a.best).slice(0, widths[rung + 1] ?? 0);
  });
  for (const trial of list) {
    trial.state = trial.rung === widths.length - 1 ? 'COMPLETED' : random() < 0.03 ? 'FAILED' : 'PRUNED';
    for (let r = 1; r <= trial.level; r++) trial.curve.push([r, trial.good - 0.2 / (r + 2) + 0.002 * random()]);
    trial.best = Math.max(...trial.curve.map((point) => point[1]));
    trial.why = trial.state === 'COMPLETED' ? 'Trained as far as was planned.' : `Hyperband: bracket ${bracket} (s = ${4 - bracket}), rung ${trial.rung} at resource ${trial.level}: rank ${2 + Math.floor(random() * 30)} of ${widths[trial.rung]} with ${kMetric} = ${trial.best.toFixed(5)}; the best ${widths[trial.rung + 1]} go on, the cut-off is 0.7612.`;
  }
});
trials.sort((a, b) => b.best - a.best);
const valueOf = [(x) => 10 ** (-4 + 4 * x), (x) => 1 + Math.round(x * 11), (x) => 0.2 + 0.8 * x, (x) => ['gbtree', 'dart', 'gblinear'][Math.min(2, Math.floor(x * 3))], (x) => 2 * x];
const place = (trial, k) => (k === 3 ? (Math.min(2, Math.floor(trial.x[3] * 3)) + 0.5) / 3 : k === 1 ? Math.round(trial.x[1] * 11) / 11 : trial.x[k]);
const lowest = Math.min(...trials.map((trial) => trial.best));
const highest = trials[0].best;
const objectiveAt = (value) => (value - lowest) / (highest - lowest);
const axes = [
  {name: 'learning_rate', kind: 'continuous', scaling: 'log', min: 0.0001, max: 1, values: [], tickPosition: [0, 0.25, 0.5, 0.75, 1], tickText: ['0.0001', '0.001', '0.01', '0.1', '1']},
  {name: 'max_depth', kind: 'integer', scaling: 'linear', min: 1, max: 12, values: [], tickPosition: [1 / 11, 3 / 11, 5 / 11, 7 / 11, 9 / 11, 1], tickText: ['2', '4', '6', '8', '10', '12']},
  {name: 'subsample', kind: 'continuous', scaling: 'linear', min: 0.2, max: 1, values: [], tickPosition: [0, 0.25, 0.5, 0.75, 1], tickText: ['0.2', '0.4', '0.6', '0.8', '1']},
  {name: 'booster', kind: 'categorical', scaling: 'linear', min: 0, max: 2, values: ['gbtree', 'dart', 'gblinear'], tickPosition: [1 / 6, 0.5, 5 / 6], tickText: ['gbtree', 'dart', 'gblinear']},
  {name: 'alpha', kind: 'continuous', scaling: 'linear', min: 0, max: 2, values: [], tickPosition: [0, 0.25, 0.5, 0.75, 1], tickText: ['0', '0.5', '1', '1.5', '2']},
  {name: '#objective', kind: 'objective', scaling: 'linear', min: lowest, max: highest, values: [], tickPosition: [0, 0.5, 1], tickText: [lowest, (lowest + highest) / 2, highest].map((value) => value.toFixed(3))},
];
const counts = (list) => Object.fromEntries(['pending', 'running', 'paused', 'completed', 'pruned', 'failed', 'cancelled'].map((name) => [name, String(list.filter((trial) => trial.state.toLowerCase() === name).length)]));
const spent = trials.reduce((sum, trial) => sum + trial.level, 0);
const brackets = kBrackets.map((widths, index) => ({index: String(index), s: String(4 - index), endReason: index === 3 ? 'Its 2 survivors are behind: 7 of the 8 best at resource 27 are of other brackets (chance 0.004).' : '', rungs: widths.map((width, r) => ({resource: String(3 ** (index + r)), width: String(width), entered: String(width), arrived: String(width), running: '0'}))}));
const job = (id, ended) => ({
  id, state: ended ? 'COMPLETED' : 'STOPPED', owner: 'ada', annotation: ended ? {tags: ['baseline', 'nightly/gpu'], note: 'With the old augmentation, to compare against.', author: 'ada', time: new Date(Date.now() - 4e6).toISOString()} : undefined, notices: [{kind: 'IDENTICAL_CURVES', trial: '5', text: 'All 5 trials reported the same values: does the program read its arguments?', time: new Date().toISOString()}], failures: [{reason: 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB', trials: '2', firstTrial: '7'}, {reason: 'ValueError: max_depth must be positive', trials: '1', firstTrial: '19'}], stateReason: 'All 143 trials have ended.', createTime: new Date(Date.now() - 8e6).toISOString(), endTime: new Date(Date.now() - 5e6).toISOString(),
  spec: {name: id, parameters: kParameters, objective: {metric: kMetric, goal: 'MAXIMIZE'}, trainer: {builtin: 'gbdt', command: [], resumes: true}, channels: {train: {path: 'data/train.csv', label: 'y_yes', drop: []}}, staticHyperparameters: {objective: 'binary:logistic'}, strategy: 'HYPERBAND', hyperband: {minResource: '1', maxResource: '81', reductionFactor: '3'}, limits: {maxTrials: '143', maxTotalResource: '0'}, seed: '1729', workingDirectory: '/home/me'},
  trialCounts: counts(trials), best: {trial: String(trials[0].number), objective: highest, resource: String(trials[0].level)},
  spend: {resource: String(spent), fullResource: String(143 * 81), elapsedSeconds: 412, trainingSeconds: 1604.2, billableNodeSeconds: 1604.2, savedResource: ended ? String(143 * 81 - spent - 400) : '0', startupSeconds: 210},
  brackets, plannedTrials: ended ? '143' : '200', plannedResource: String(spent), lastSequence: '900', strategyText: 'HYPERBAND, R = 81, eta = 3, SOBOL sampler', warmStartText: '',
});
const row = (trial) => ({jobId: 'sifted', number: String(trial.number), state: trial.state, stateReason: trial.why, hyperparameters: kParameters.map((parameter, k) => ({name: parameter.name, [k === 1 ? 'integer' : k === 3 ? 'categorical' : 'continuous']: k === 1 ? String(valueOf[1](trial.x[1])) : valueOf[k](trial.x[k])})), objective: trial.best - 0.001, resource: String(trial.level), bestObjective: trial.best, bestResource: String(trial.level), value: trial.best, valueResource: String(trial.level), bracket: String(trial.bracket), rung: String(trial.rung), attempts: String(trial.rung + 1), trainingSeconds: trial.level * 0.31, billableNodeSeconds: trial.level * 0.31, trainedResource: String(trial.level), choiceReason: '', nodes: 1, endTime: new Date(Date.now() - 6e6).toISOString()});

function passing(filters) {
  return trials.filter((trial) => filters.every((filter) => {
    const [field, rest] = [filter.slice(0, filter.indexOf(':')), filter.slice(filter.indexOf(':') + 1)];
    const k = kParameters.findIndex((each) => each.name === field);
    const value = field === '#objective' ? trial.best : field === '#state' ? trial.state.toLowerCase() : field === '#bracket' ? trial.bracket : field === '#number' ? trial.number : valueOf[k](trial.x[k]);
    if (!rest.includes('..')) return rest.split('|').includes(String(value));
    const [min, max] = rest.split('..');
    return (min === '' || value >= Number(min)) && (max === '' || value <= Number(max));
  }));
}

function answerTo(path, query) {
  const chosen = passing(query.getAll('filters'));
  if (path === '/v1/caller') return {role: 'ADMIN', tokenId: '', name: '', tokensRequired: false, serverVersion: 'fixture'};
  if (path === '/v1/tuning-jobs') return {jobs: [job('sifted', true), job('stopped-early', false)], nextPageToken: ''};
  if (path === '/v1/workers') return {workers: []};
  if (path === '/v1/pools') return {pools: []};
  if (path === '/v1/progress') {
    const progress = {elapsedSeconds: [], resource: [], best: [], trial: []};
    let best = -1;
    [...trials].sort((a, b) => a.number - b.number).forEach((trial, i) => {
      if (trial.best <= best) return;
      best = trial.best;
      progress.elapsedSeconds.push(i * 2.9);
      progress.resource.push(String(Math.round(i * spent / 143)));
      progress.best.push(best);
      progress.trial.push(trial.number);
    });
    return {jobs: query.getAll('jobIds').map((jobId) => ({jobId, ...progress}))};
  }
  const [, id, rest] = /^\/v1\/tuning-jobs\/([^/]+)(.*)$/.exec(path) ?? [];
  if (id === undefined) return null;
  if (rest === '') return job(id, id !== 'stopped-early');
  if (rest === '/sieve') {
    return {trials: String(chosen.length), lastSequence: '900', cells: kBrackets.flatMap((widths, bracket) => widths.map((_, rung) => {
      const here = chosen.filter((trial) => trial.bracket === bracket && trial.rung === rung);
      return {bracket, rung, resource: 3 ** (bracket + rung), counts: counts(here), passed: chosen.filter((trial) => trial.bracket === bracket && trial.rung > rung).length, cutoff: rung + 1 < widths.length ? 0.7612 : 'NaN', trial: here.map((t) => t.number), best: here.map((t) => t.best), state: here.map((t) => t.state), atResource: here.map((t) => t.level), why: here.map((t) => t.why)};
    }))};
  }
  if (rest === '/curves') {
    const levels = Array.from({length: 81}, (_, i) => i + 1);
    const envelope = {resource: levels, count: [], min: [], lower: [], median: [], upper: [], max: []};
    for (const level of levels) {
      const values = chosen.filter((trial) => trial.level >= level).map((trial) => trial.curve[level - 1][1]).sort((a, b) => a - b);
      envelope.count.push(values.length);
      for (const [name, part] of [['min', 0], ['lower', 0.25], ['median', 0.5], ['upper', 0.75], ['max', 1]]) envelope[name].push(values.length ? values[Math.round(part * (values.length - 1))] : 'NaN');
    }
    const stopped = chosen.filter((trial) => trial.state === 'PRUNED');
    return {metric: kMetric, metrics: [kMetric, 'train:auc'], envelope, curves: chosen.slice(0, 24).map((trial) => ({trial: trial.number, state: trial.state, resource: trial.curve.map((p) => p[0]), value: trial.curve.map((p) => p[1])})), stoppedTrial: stopped.map((t) => t.number), stoppedResource: stopped.map((t) => t.level), stoppedValue: stopped.map((t) => t.curve[t.level - 1][1])};
  }
  if (rest === '/parallel-coordinates') return {axes, trial: chosen.map((t) => t.number), position: chosen.flatMap((t) => [...kParameters.map((_, k) => place(t, k)), objectiveAt(t.best)]), densities: [], trials: String(chosen.length)};
  if (rest === '/importance') return {parameters: [['learning_rate', 0.52, 0.08], ['max_depth', 0.21, 0.05], ['booster', 0.11, 0.04], ['alpha', 0.06, 0.02], ['subsample', 0.02, 0.01]].map(([parameter, importance, deviation]) => ({parameter, importance, deviation})), pairs: [{first: 'alpha', second: 'subsample', importance: 0.05, deviation: 0.02}], trials: String(chosen.length), note: '', resource: '9', levels: ['1', '3', '9', '27', '81'], levelTrials: ['143', '90', '60', '20', '9']};
  if (rest.startsWith('/slices/')) {
    const k = kParameters.findIndex((each) => each.name === decodeURIComponent(rest.slice(8)));
    return {axis: axes[k], objective: axes[5], xBin: [], yBin: [], count: [], trial: chosen.map((t) => t.number), x: chosen.map((t) => place(t, k)), y: chosen.map((t) => objectiveAt(t.best)), resource: chosen.map((t) => t.level), marginalX: Array.from({length: 20}, (_, i) => i / 19), marginalMean: Array.from({length: 20}, (_, i) => highest - 0.01 - 0.05 * (i / 19 - 0.55) ** 2), marginalDeviation: Array.from({length: 20}, () => 0.004), bins: 28, resourceLevel: '9'};
  }
  if (rest === '/contour') {
    const [kx, ky] = ['x', 'y'].map((name) => kParameters.findIndex((each) => each.name === query.get(name)));
    const places = (k) => (axes[k].values.length ? axes[k].values.map((_, i) => (i + 0.5) / axes[k].values.length) : Array.from({length: 32}, (_, i) => (i + 0.5) / 32));
    const [xPlace, yPlace] = [places(kx), places(ky)];
    const mean = yPlace.flatMap((y) => xPlace.map((x) => highest - 0.1 * (x - 0.55) ** 2 - 0.06 * (y - 0.4) ** 2));
    return {xAxis: axes[kx], yAxis: axes[ky], objective: axes[5], xPlace, yPlace, mean, deviation: mean.map(() => 0.003), trial: chosen.map((t) => t.number), x: chosen.map((t) => place(t, kx)), y: chosen.map((t) => place(t, ky)), value: chosen.map((t) => t.best), resourceLevel: '27', note: 'Of 5,000 trials 2,048 were taken, evenly by their number.'};
  }
  if (rest === '/scatter') {
    const states = ['pending', 'running', 'paused', 'completed', 'pruned', 'failed', 'cancelled'];
    const common = {'#objective': (t) => t.best, '#resource': (t) => t.level, '#trained': (t) => t.level, '#training_seconds': (t) => t.level * 0.7, '#nodes': () => 1, '#number': (t) => t.number, '#state': (t) => states.indexOf(t.state.toLowerCase()), [`metric:${kMetric}`]: (t) => t.best};
    const column = (name, otherwise) => {
      const field = query.get(name) ?? otherwise;
      const k = kParameters.findIndex((each) => each.name === field);
      if (k < 0) return {field, scaling: 'linear', values: field === '#state' ? states : [], value: chosen.map(common[field])};
      return {field, scaling: axes[k].scaling, values: axes[k].values, value: chosen.map((t) => (k === 3 ? axes[3].values.indexOf(valueOf[3](t.x[3])) : valueOf[k](t.x[k])))};
    };
    return {fields: [...kParameters.map((each) => each.name), ...Object.keys(common)], x: column('x', kParameters[0].name), y: column('y', '#objective'), color: column('color', '#state'), trial: chosen.map((t) => t.number), state: chosen.map((t) => t.state), trials: String(chosen.length)};
  }
  if (rest === '/table') {
    const offset = Number(query.get('offset') ?? 0);
    return {trials: chosen.slice(offset, offset + Number(query.get('limit') ?? 100)).map(row), total: String(chosen.length)};
  }
  const trial = trials.find((each) => rest === `/trials/${each.number}`);
  return trial ? {trial: row(trial), attempts: [], events: []} : null;
}

export function answer(request, response, next) {
  const url = new URL(request.url, 'http://here');
  if (!url.pathname.startsWith('/v1/')) return next();
  const body = answerTo(url.pathname, url.searchParams);
  response.statusCode = body ? 200 : 404;
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(body ?? {code: 'NOT_FOUND', message: 'The fixture has no such thing.'}));
}
