/** Stands in for zod's messages in 50 languages, of which the Worker uses English only. zod imports that one by itself. */
export {};
