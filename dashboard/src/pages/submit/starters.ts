// What somebody may begin with.
export interface Starter {
  value: string;
  label: string;
  spec: Record<string, unknown>;
}

// A directory that nobody has: what begins with it is to be replaced.
export const kYourDirectory = '/path/to/your/project';

export const kStarters: Starter[] = [
  {
    value: 'first',
    label: 'To try out',
    spec: {
      name: 'first-job',
      working_directory: '/tmp',
      trainer: {
        // Descends a quadratic; needs nothing but a shell and awk.
        command: [
          'sh',
          '-c',
          'awk -v to=$WINNOW_RESOURCE_TO -v a={{rate}} -v b={{decay}} "$0"',
          'BEGIN { for (x = 4; i < to; x -= a*x / i^b) print "step", ++i, "loss=" x * x }',
        ],
        metrics: [{name: 'loss', regex: 'loss=([-+0-9.e]+)'}],
        resource_regex: 'step ([0-9]+)',
        resumes: false,
      },
      parameters: [
        {name: 'rate', continuous: {min: 0.001, max: 2, scaling: 'LOG'}},
        {name: 'decay', continuous: {min: 0, max: 1}},
      ],
      objective: {metric: 'loss', goal: 'MINIMIZE'},
      strategy: 'HYPERBAND',
      hyperband: {min_resource: 1, max_resource: 27, reduction_factor: 3},
      seed: 1,
    },
  },
  {
    value: 'command',
    label: 'Your own program',
    spec: {
      name: 'my-program',
      working_directory: kYourDirectory,
      trainer: {
        command: ['python3', 'train.py'],
        metrics: [{name: 'loss', regex: 'loss=([-+0-9.e]+)'}],
        resource_regex: 'epoch ([0-9]+)',
      },
      parameters: [
        {name: 'learning_rate', continuous: {min: 0.0001, max: 1, scaling: 'LOG'}},
        {name: 'layers', integer: {min: 1, max: 4}},
        {name: 'activation', categorical: {values: ['relu', 'tanh']}},
      ],
      objective: {metric: 'loss', goal: 'MINIMIZE'},
      strategy: 'ASHA',
      pruner: {max_resource: 27},
      limits: {max_trials: 60},
      seed: 1,
    },
  },
  {
    value: 'trees',
    label: 'Boosted trees',
    spec: {
      name: 'my-trees',
      working_directory: kYourDirectory,
      trainer: {builtin: 'gbdt'},
      channels: {train: {path: 'data/train.csv', label: 'y', validation_fraction: 0.2}},
      static_hyperparameters: {objective: 'binary:logistic', eval_metric: 'auc'},
      parameters: [
        {name: 'num_round', integer: {min: 50, max: 200}},
        {name: 'eta', continuous: {min: 0.01, max: 1, scaling: 'LOG'}},
        {name: 'max_depth', integer: {min: 1, max: 10}},
        {name: 'alpha', continuous: {min: 0, max: 2}},
      ],
      objective: {metric: 'validation:auc', goal: 'MAXIMIZE'},
      strategy: 'HYPERBAND',
      hyperband: {min_resource: 1, max_resource: 27, reduction_factor: 3},
      seed: 1,
    },
  },
];
