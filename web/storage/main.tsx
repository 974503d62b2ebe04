import { mount, TopBar } from '../shared/page.tsx';

mount(<TopBar current="storage" />);
