/** The drawn icons of all pages (Lucide). They are decoration: a label or the text beside them has the meaning. */
import {
  Archive,
  ArrowLeft,
  BookOpen,
  Check,
  ChevronDown,
  ChevronUp,
  CircleUserRound,
  Clock,
  Code,
  Copy,
  CornerUpLeft,
  Database,
  Download,
  Ellipsis,
  FileText,
  Folder,
  FolderInput,
  Forward,
  Gauge,
  Inbox,
  Info,
  Keyboard,
  Layers,
  LogOut,
  Mail,
  MailOpen,
  Menu,
  OctagonAlert,
  Paperclip,
  PenLine,
  PictureInPicture2,
  Printer,
  RefreshCw,
  Reply,
  ReplyAll,
  Search,
  Send,
  Settings,
  SquarePen,
  Star,
  Tag,
  Trash2,
  Trophy,
  Undo2,
  X,
} from 'lucide-preact';
import type { ComponentType } from 'react';

const ICONS = {
  account: CircleUserRound,
  all: Layers,
  answered: CornerUpLeft,
  archive: Archive,
  back: ArrowLeft,
  check: Check,
  clip: Paperclip,
  clock: Clock,
  close: X,
  code: Code,
  copy: Copy,
  docs: BookOpen,
  down: ChevronDown,
  download: Download,
  drafts: PenLine,
  file: FileText,
  flagged: Star,
  folder: Folder,
  forward: Forward,
  inbox: Inbox,
  info: Info,
  junk: OctagonAlert,
  keys: Keyboard,
  label: Tag,
  leaderboard: Trophy,
  mail: Mail,
  menu: Menu,
  more: Ellipsis,
  move: FolderInput,
  operator: Gauge,
  popOut: PictureInPicture2,
  print: Printer,
  read: MailOpen,
  refresh: RefreshCw,
  reply: Reply,
  replyAll: ReplyAll,
  search: Search,
  send: Send,
  sent: Send,
  settings: Settings,
  signOut: LogOut,
  storage: Database,
  trash: Trash2,
  undo: Undo2,
  unread: Mail,
  up: ChevronUp,
  write: SquarePen,
} as const;

export type IconName = keyof typeof ICONS;

interface Drawing {
  class: string;
  size: number;
  'stroke-width': number;
  'aria-hidden': 'true';
}

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  // The package has the types of Preact, the pages those of React.
  const Drawn = ICONS[name] as unknown as ComponentType<Drawing>;
  return <Drawn class={`icon-drawing icon-${name}`} size={size} stroke-width={1.75} aria-hidden="true" />;
}
