/**
 * `gannet completion`: generates shell completion scripts from the declarations of commands and
 * options.
 */
import { bad, isShown, type Option, type Options } from '../base/options.ts';
import { type Command, command, DONE } from './command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** @param commands all commands of the program. @param options options of the server */
export function completionCommand(commands: () => readonly Command[], options: Options): Command {
  return command({
    name: 'completion',
    summary: 'Prints a script that lets a shell complete commands and options.',
    operands: 'bash|zsh|fish',
    notes: '',
    examples: [
      'completion bash > /etc/bash_completion.d/gannet',
      'completion zsh > "${fpath[1]}/_gannet"',
      'completion fish > ~/.config/fish/completions/gannet.fish',
    ],
    options: {},
    run(_, [shell, ...rest], { output }) {
      const known = SHELLS.find((one) => one === shell);
      if (known === undefined || rest.length > 0) {
        bad('the shell', [shell ?? 'nothing', ...rest].join(' '), `one of ${SHELLS.join(', ')}`);
      }
      output.write(WRITERS[known](commands(), shown(options)));
      return DONE;
    },
  });
}

const WRITERS: Record<Shell, (commands: readonly Command[], options: Options) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** The documented options. */
function shown(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, option]) => isShown(option)));
}

function flagsOf(options: Options): string {
  return [...Object.keys(options), 'help'].map((name) => `--${name}`).join(' ');
}

/** The words that a command accepts in addition to options. */
function wordsOf({ name, operands }: Command): string {
  return ['completion', 'cluster'].includes(name)
    ? operands.replace(/ .*/, '').replaceAll('|', ' ')
    : '';
}

function bashScript(commands: readonly Command[], options: Options): string {
  const cases = commands.map(
    (one) => `    ${one.name}) words="${`${wordsOf(one)} ${flagsOf(one.options)}`.trim()}" ;;\n`,
  );
  const names = commands.map(({ name }) => name).join(' ');
  return `# bash completion of gannet
_gannet() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  case "\${COMP_WORDS[1]}" in
${cases.join('')}    *) words="${flagsOf(options)} --version" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${names} ${flagsOf(options)} --version"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gannet gannet
`;
}

/** Quotes a text for the shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function zshScript(commands: readonly Command[], options: Options): string {
  const escaped = (text: string): string =>
    text.replace(/[\\[\]:]/g, (character) => `\\${character}`);
  const flags = (declared: Options): string =>
    Object.entries<Option>(declared)
      .map(([name, { kind, help }]) =>
        quoted(`--${name}[${escaped(help)}]${kind === 'flag' ? '' : ':value:_files'}`),
      )
      .concat(quoted('--help[Show the options.]'))
      .join(' ');
  const cases = commands.map((one) => {
    const words = wordsOf(one);
    const operands =
      words === '' ? (one.operands === '' ? '' : " '*:file:_files'") : ` '1:shell:(${words})'`;
    return `    ${one.name}) _arguments ${flags(one.options)}${operands} ;;\n`;
  });
  const names = commands.map(({ name, summary }) => quoted(`${name}:${escaped(summary)}`));
  return `#compdef gannet
_gannet() {
  local -a commands
  commands=(${names.join(' ')})
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe command commands
    return
  fi
  local chosen=$words[2]
  case $chosen in
    -*) _arguments ${flags(options)} ;;
    *) shift words; (( CURRENT-- )) ;;
  esac
  case $chosen in
${cases.join('')}  esac
}
_gannet "$@"
`;
}

function fishScript(commands: readonly Command[], options: Options): string {
  const lines = ['# fish completion of gannet'];
  const flag = (condition: string, name: string, { kind, help }: Option): string =>
    `complete -c gannet -n ${quoted(condition)} -l ${name} -d ${quoted(help)}${kind === 'flag' ? '' : ' -r'}`;
  for (const { name, summary } of commands) {
    lines.push(`complete -c gannet -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`);
  }
  for (const [name, option] of Object.entries<Option>(options)) {
    lines.push(flag('__fish_use_subcommand', name, option));
  }
  for (const one of commands) {
    const condition = `__fish_seen_subcommand_from ${one.name}`;
    for (const [name, option] of Object.entries<Option>(one.options)) {
      lines.push(flag(condition, name, option));
    }
    const words = wordsOf(one);
    if (words !== '')
      lines.push(`complete -c gannet -n ${quoted(condition)} -f -a ${quoted(words)}`);
  }
  return `${lines.join('\n')}\n`;
}
