/** English texts of the start page. Words in braces are replaced. */
export const enWelcome = {
  page: {
    allStoresAnswer: 'All stores answer',
    storeDoesNotAnswer: 'A store does not answer',
    notReachable: 'Not reachable',
    threeServicesOnePlace: 'Three services, one place',
    lead: 'Mail for people, buckets for programs, and a board that moves. Each has a page here and an API that does the same.',
    mail: 'Mail',
    mailText: 'Read, write, search, filter. New messages appear by themselves.',
    mailNote: 'Addresses at {mailDomains}',
    storage: 'Storage',
    storageText: 'Buckets, folders and every version of every object, with an access key.',
    storageNote: 'Speaks S3: aws, rclone, s3cmd, boto3',
    leaderboard: 'Leaderboard',
    boardText: "The month's standings as scores arrive. Find a player, look at past seasons.",
    boardNote: 'Public, and made to be embedded',
    fromTerminal: 'From a terminal',
    apiReference: 'API reference',
    operator: 'Operator',
    openapiDocument: 'OpenAPI document',
    version: 'Version {version}',
  },
};
