import { mount } from '../shared/page.tsx';

mount(<main />);
