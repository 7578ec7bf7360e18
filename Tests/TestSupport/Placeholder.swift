import RealmPages
