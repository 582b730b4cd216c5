import type {TuningPlan} from '../../api/types';
import {count, counted, duration, percent} from '../../format';
import {kindsOf, widestOf} from './plan_brackets';

// Brackets as columns of rungs, as wide as there are trials.
export function Plan({plan}: {plan: TuningPlan}) {
  const kinds = kindsOf(plan.brackets);
  const widest = widestOf(kinds);
  const saved = plan.fullResource > 0 && plan.resource > 0 ? 1 - plan.resource / plan.fullResource : Number.NaN;
  return (
    <div class="plan">
      <p>
        <strong>{plan.strategyText}</strong>
      </p>
      {plan.note && <p class="muted">{plan.note}</p>}
      <dl class="plan-figures">
        <div>
          <dt>Trials</dt>
          <dd>{plan.trials ? count(plan.trials) : 'until a limit ends the job'}</dd>
        </div>
        <div>
          <dt>Units trained</dt>
          <dd>{plan.resource ? count(plan.resource) : 'not known yet'}</dd>
        </div>
        <div>
          <dt>Without pruning</dt>
          <dd>{plan.fullResource ? count(plan.fullResource) : '–'}</dd>
        </div>
        <div>
          <dt>Saved</dt>
          <dd class="best-ink">{percent(saved)}</dd>
        </div>
        <div>
          <dt>Takes about</dt>
          <dd>{plan.elapsedSeconds > 0 ? duration(plan.elapsedSeconds) : '–'}</dd>
        </div>
        <div>
          <dt>Slots busy</dt>
          <dd>{plan.elapsedSeconds > 0 ? percent(plan.busyFraction) : '–'}</dd>
        </div>
      </dl>
      {plan.brackets.length > 0 && (
        <ol class="plan-brackets" aria-label="Brackets">
          {kinds.map(({bracket, brackets}) => (
            <li key={bracket.index}>
              <h3>{kinds.length < plan.brackets.length ? counted(brackets, 'bracket') : `Bracket ${bracket.index + 1}`}</h3>
              <ol>
                {bracket.rungs.map((rung) => (
                  <li key={rung.resource} class="plan-rung">
                    <i style={{width: `${Math.max(2, (rung.trials / widest) * 100)}%`}} />
                    <span>
                      {counted(rung.trials, 'trial')} <span class="quiet">to {counted(rung.resource, 'unit')}</span>
                    </span>
                  </li>
                ))}
              </ol>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
