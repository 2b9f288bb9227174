import { useState } from 'preact/hooks';
import type { SearchRulePage } from '../../contract/responses.ts';
import type { SearchRuleView } from '../../contract/search-rules.ts';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { Figure } from '../chart.tsx';
import { pathOf, type Client } from '../client.ts';
import { useBodySchema } from '../description.ts';
import { counted, moment } from '../format.ts';
import { Cards } from '../parts/card.tsx';
import { Choice } from '../parts/choice.tsx';
import { Pages } from '../parts/pages.tsx';
import { Resource, type Tools } from '../parts/resource.tsx';
import { NEW_UID, SchemaDialog } from '../parts/schema-dialog.tsx';
import { membersOf } from '../parts/schema-field.tsx';
import { TextField } from '../parts/text-field.tsx';
import { conditionWords, ruleBody } from '../rules.ts';
import type { Schema } from '../schema.ts';

const PER_PAGE = 20;

const FEATURE = {
  feature: 'dynamicSearchRules',
  purpose:
    'A rule pins chosen documents to positions in the results of matching searches, or hides them.',
};

interface Shown {
  q: string;
  active: string;
  page: number;
}

function listRules(client: Client, shown: Shown, signal: AbortSignal): Promise<SearchRulePage> {
  const { q, active, page } = shown;
  const filter = { query: q === '' ? null : q, active: active === '' ? null : active === 'true' };
  const body = { offset: (page - 1) * PER_PAGE, limit: PER_PAGE, filter };
  return client.send('POST', '/dynamic-search-rules', { body, signal });
}

export function RulesView(): JSX.Element {
  const { query } = useAddress();
  const { q = '', active = '' } = query;
  const page = Math.max(1, Math.trunc(Number(query.page)) || 1);
  const schema = useBodySchema('/dynamic-search-rules/{uid}', 'patch');
  const [total, setTotal] = useState(0);
  const change = (part: Record<string, string>): void =>
    replaceAddress(viewHref('rules', null, { q, active, ...part }));
  return (
    <Resource<SearchRuleView>
      noun="rule"
      icon="rules"
      nothing="Results are ordered by relevance only. Create a rule to pin documents."
      {...((q !== '' || active !== '') && {
        nothingMatches: 'Change the words above, or show all rules.',
      })}
      feature={FEATURE}
      inputs={[q, active, page]}
      load={async (client, signal) => {
        const found = await listRules(client, { q, active, page }, signal);
        setTotal(found.total);
        return found.results;
      }}
      list={(rows, open) => (
        <>
          <Cards
            label="Rules"
            rows={rows}
            nameOf={({ uid }) => uid}
            actions={(rule) => [
              { label: 'Edit', run: () => open('edit', rule) },
              { label: 'Delete', danger: true, run: () => open('delete', rule) },
            ]}
          >
            {(rule) => <RuleFacts rule={rule} />}
          </Cards>
          <Pages
            page={page}
            pages={Math.ceil(total / PER_PAGE)}
            onPage={(chosen) => change({ page: String(chosen) })}
          />
        </>
      )}
      dialogs={{
        create: (_, tools) => <RuleDialog rule={null} schema={schema} tools={tools} />,
        edit: (rule, tools) => <RuleDialog rule={rule} schema={schema} tools={tools} />,
      }}
      deletion={{
        warning: 'This deletes the rule. Its documents are kept.',
        nameOf: ({ uid }) => uid,
        pathOf: ({ uid }) => pathOf(['dynamic-search-rules', uid]),
        isTask: true,
      }}
    >
      <p>{FEATURE.purpose} If two rules conflict, the rule with the lower precedence wins.</p>
      <RuleFilter q={q} active={active} onChange={change} />
      <p class="note" role="status">
        {total === 0 ? '' : counted(total, 'rule')}
      </p>
    </Resource>
  );
}

interface FilterProps {
  q: string;
  active: string;
  onChange(part: Record<string, string>): void;
}

function RuleFilter({ q, active, onChange }: FilterProps): JSX.Element {
  return (
    <div class="row">
      <TextField
        label="Find a rule"
        hint="Words in the description or the condition of a rule."
        type="search"
        value={q}
        onInput={(text) => onChange({ q: text })}
      />
      <Choice
        label="Shown"
        value={active}
        options={[
          ['', 'all'],
          ['true', 'active'],
          ['false', 'not active'],
        ]}
        onChoose={(chosen) => onChange({ active: chosen })}
      />
    </div>
  );
}

function RuleFacts({ rule }: { rule: SearchRuleView }): JSX.Element {
  const { description, precedence, active, actions } = rule;
  const conditions = conditionWords(rule, moment);
  return (
    <>
      {description === undefined ? null : <p>{description}</p>}
      <dl>
        <Figure name="State" value={active ? 'active' : 'not active'} />
        {precedence === undefined ? null : <Figure name="Precedence" value={precedence} />}
        <Figure
          name="Applies when"
          value={
            conditions.length === 0
              ? 'Always.'
              : conditions.map((words) => <div key={words}>{words}</div>)
          }
        />
        <Figure
          name="Documents"
          value={
            actions.length === 0
              ? 'none'
              : actions.map(({ selector, action }, position) => (
                  <div key={position}>
                    {action.position ?? 'hidden'}: document {selector.id} of{' '}
                    {selector.indexUid ?? 'any index'}
                  </div>
                ))
          }
        />
      </dl>
    </>
  );
}

const NEW_RULE = {
  active: true,
  actions: [{ selector: { id: '' }, action: { type: 'pin', position: 0 } }],
};

interface RuleProps {
  /** null: a new rule. */
  rule: SearchRuleView | null;
  schema: Schema | undefined;
  tools: Tools;
}

function RuleDialog({ rule, schema, tools }: RuleProps): JSX.Element {
  return (
    <SchemaDialog
      title={rule === null ? 'Create a rule' : `Edit ${rule.uid}`}
      verb={rule === null ? 'Create' : 'Save'}
      schema={schema}
      {...(rule === null ? { naming: NEW_UID, value: NEW_RULE } : { value: { ...rule } })}
      onSave={(_, whole, name) =>
        tools.send(
          'PATCH',
          pathOf(['dynamic-search-rules', rule?.uid ?? name]),
          ruleBody(membersOf(schema!), whole),
        )
      }
      onClose={tools.close}
    />
  );
}
