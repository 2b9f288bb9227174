/**
 * The version of the HTTP interface that this server implements. Clients read it as `pkgVersion`
 * and refuse servers below the version that they need; the version of this program means nothing to
 * them.
 */
export const API_LEVEL = '1.50.0';
