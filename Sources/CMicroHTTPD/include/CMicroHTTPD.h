// libmicrohttpd, GNU's HTTP server library, for `realmfs browse`. The library is loaded when it is first needed: it
// brings GnuTLS with it, and loading all of that takes longer than most commands run.
#pragma once

#include <microhttpd.h>

// Loads libmicrohttpd, once. Returns NULL, or the reason why it cannot be loaded. No function of the library may be
// called before this has returned NULL. Safe to call from any thread.
const char *cmicrohttpd_load(void);

// The callbacks of a server. All are called on the thread that polls its sockets, with `context` as first argument.
struct cmicrohttpd_callbacks {
  void *context;
  // Returns the object of a new request, given its target as it was sent.
  void *(*begin)(void *context, const char *target, struct MHD_Connection *connection);
  MHD_AccessHandlerCallback handle;
  MHD_RequestCompletedCallback complete;
  // Called when a connection begins, and before its socket is closed.
  MHD_NotifyConnectionCallback connection;
};

// Limits on clients.
struct cmicrohttpd_limits {
  unsigned connections;
  // The seconds after which an idle connection is closed.
  unsigned timeout;
  // The bytes of memory for the head of a request. Larger heads are refused.
  size_t head;
};

// Starts a server on a listening socket, which the server closes when it stops. One thread, which receives no
// signals, polls all sockets. Returns NULL if it cannot be started.
struct MHD_Daemon *cmicrohttpd_start(int listener, const struct cmicrohttpd_callbacks *callbacks,
                                     const struct cmicrohttpd_limits *limits);

// Returns the socket of a connection; -1 if there is none.
int cmicrohttpd_socket(struct MHD_Connection *connection);

// Returns a socket that listens at `host`, a name or a numeric address of IPv4 or IPv6, and stores its port. If it
// cannot be created, returns -1 and stores the reason, a constant text.
int cmicrohttpd_listen(const char *host, unsigned short port, unsigned short *bound, const char **reason);

// Stores the numeric address at which a socket was reached, without port. Returns 0 if it cannot be determined.
int cmicrohttpd_local_address(int connected, char *address, size_t size);
