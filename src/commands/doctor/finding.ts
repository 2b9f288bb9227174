/** What a check has found. */
export interface Finding {
  /**
   * `fault`: the server does not work, or loses data; `advice`: it works less well than it could.
   */
  readonly level: 'ok' | 'advice' | 'fault';
  readonly text: string;
  /** What to change. */
  readonly change?: string;
}

export const fine = (text: string): Finding => ({ level: 'ok', text });

export const advice = (text: string, change: string): Finding => ({
  level: 'advice',
  text,
  change,
});

export const fault = (text: string, change: string): Finding => ({ level: 'fault', text, change });
