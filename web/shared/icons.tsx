/** Our own line icons, 20 by 20. They are decoration: the text beside them has the meaning. */
const PATHS = {
  inbox: 'M3 11.5 5 4h10l2 7.5V16H3zM3 11.5h4l1 2h4l1-2h4',
  flagged: 'm10 3 2.1 4.5 4.9.6-3.6 3.4.9 4.9L10 14l-4.3 2.4.9-4.9L3 8.1l4.9-.6z',
  drafts: 'M4 16l.8-3.4L13 4.4l2.6 2.6-8.2 8.2zM11.5 6l2.6 2.6',
  sent: 'M3 10 17 3.5 13 16.5l-3-5.2zM10 11.3 17 3.5',
  archive: 'M3 4.5h14v3H3zM4.2 7.5V16h11.6V7.5M8 10.5h4',
  all: 'M3 5h14M3 10h14M3 15h14',
  junk: 'M7 3h6l4 4v6l-4 4H7l-4-4V7zM10 6.5v4.2M10 13.4v.1',
  trash: 'M4 5.5h12M8 5.5V3.8h4v1.7M5.5 5.5l.7 11h7.6l.7-11',
  folder: 'M3 5h5l1.5 2H17v9H3z',
  clip: 'm15.5 9-5.6 5.7a3.1 3.1 0 0 1-4.5-4.4l6-6a2 2 0 0 1 3 2.9l-5.8 5.8a.9.9 0 0 1-1.4-1.3L12.300 7',
  write: 'M4 16l.8-3.4L13 4.4l2.600 2.600-8.200 8.200z',
  label: 'M3 4h6.500l7.500 7.500-5.500 5.500L3 9.500zM6.500 7.500v.1',
  menu: 'M3 5.500h14M3 10h14M3 14.500h14',
  file: 'M5 3h6.500L15 6.500V17H5zM11.500 3v3.500H15',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon-drawing" viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
