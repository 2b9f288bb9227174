export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0b5d8f" />
      <circle cx="14" cy="14" r="6.5" fill="none" stroke="#fff" stroke-width="3" />
      <path d="M19 19l7 7" stroke="#f2b84b" stroke-width="3.5" stroke-linecap="round" />
    </svg>
  );
}
