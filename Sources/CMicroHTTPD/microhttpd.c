// The functions of libmicrohttpd that this program calls, each of which forwards the call to the loaded library.

#define _GNU_SOURCE
#include "CMicroHTTPD.h"

#include <arpa/inet.h>
#include <errno.h>
#include <loading.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// FORWARD(RESULT, NAME, (PARAMETERS), ARGUMENTS...)
#define FUNCTIONS(FORWARD)                                                                                             \
  FORWARD(enum MHD_Result, MHD_add_response_header, (struct MHD_Response * a, const char *b, const char *c), a, b, c)  \
  FORWARD(struct MHD_Response *, MHD_create_response_from_buffer, (size_t a, void *b, enum MHD_ResponseMemoryMode c),  \
          a, b, c)                                                                                                     \
  FORWARD(struct MHD_Response *, MHD_create_response_from_callback,                                                    \
          (uint64_t a, size_t b, MHD_ContentReaderCallback c, void *d, MHD_ContentReaderFreeCallback e), a, b, c, d,   \
          e)                                                                                                           \
  FORWARD(struct MHD_Response *, MHD_create_response_from_fd64, (uint64_t a, int b), a, b)                             \
  FORWARD(void, MHD_destroy_response, (struct MHD_Response * a), a)                                                    \
  FORWARD(const char *, MHD_lookup_connection_value,                                                                   \
          (struct MHD_Connection * a, enum MHD_ValueKind b, const char *c), a, b, c)                                   \
  FORWARD(enum MHD_Result, MHD_queue_response,                                                                         \
          (struct MHD_Connection * a, unsigned int b, struct MHD_Response * c), a, b, c)                               \
  FORWARD(MHD_socket, MHD_quiesce_daemon, (struct MHD_Daemon * a), a)                                                  \
  FORWARD(void, MHD_resume_connection, (struct MHD_Connection * a), a)                                                 \
  FORWARD(void, MHD_stop_daemon, (struct MHD_Daemon * a), a)                                                           \
  FORWARD(void, MHD_suspend_connection, (struct MHD_Connection * a), a)

// The name since version 0.9.40.
#define SONAME "libmicrohttpd.so.12"
#define OTHERS(FIND)                                                                                                   \
  FIND(MHD_start_daemon)                                                                                               \
  FIND(MHD_get_connection_info)
LOADED_LIBRARY(cmicrohttpd_load, FUNCTIONS, OTHERS)

struct MHD_Daemon *cmicrohttpd_start(int listener, const struct cmicrohttpd_callbacks *callbacks,
                                     const struct cmicrohttpd_limits *limits) {
  // The new thread inherits the mask.
  sigset_t all, old;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGFPE);
  sigdelset(&all, SIGILL);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  struct MHD_Daemon *daemon = library.MHD_start_daemon(
      MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, callbacks->handle, callbacks->context,
      MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_URI_LOG_CALLBACK, callbacks->begin, callbacks->context,
      MHD_OPTION_NOTIFY_COMPLETED, callbacks->complete, callbacks->context, MHD_OPTION_NOTIFY_CONNECTION,
      callbacks->connection, callbacks->context, MHD_OPTION_CONNECTION_LIMIT,
      limits->connections, MHD_OPTION_CONNECTION_TIMEOUT, limits->timeout, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      limits->head, MHD_OPTION_END);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return daemon;
}

int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = library.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

// Returns a socket that listens at one address, or -1 with errno.
static int listen_at(const struct addrinfo *address) {
  int listener = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  int yes = 1;
  // A specified port can be used again as soon as the server that used it has ended.
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, address->ai_addr, address->ai_addrlen) == 0 && listen(listener, 128) == 0) return listener;
  int code = errno;
  close(listener);
  errno = code;
  return -1;
}

int cmicrohttpd_listen(const char *host, unsigned short port, unsigned short *bound, const char **reason) {
  char service[8];
  snprintf(service, sizeof service, "%hu", port);
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  struct addrinfo *addresses = NULL;
  int code = getaddrinfo(host, service, &hints, &addresses);
  if (code != 0) {
    *reason = gai_strerror(code);
    return -1;
  }
  int listener = -1, error = EADDRNOTAVAIL;
  // A name can have several addresses: the first one that this machine has.
  for (struct addrinfo *address = addresses; address != NULL && listener < 0; address = address->ai_next) {
    listener = listen_at(address);
    if (listener < 0) error = errno;
  }
  freeaddrinfo(addresses);
  if (listener < 0) {
    *reason = strerrordesc_np(error);
    return -1;
  }
  struct sockaddr_storage own;
  socklen_t size = sizeof own;
  *bound = port;
  if (getsockname(listener, (struct sockaddr *)&own, &size) == 0) {
    *bound = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                             : ((struct sockaddr_in *)&own)->sin_port);
  }
  return listener;
}

int cmicrohttpd_local_address(int connected, char *address, size_t size) {
  struct sockaddr_storage own;
  socklen_t length = sizeof own;
  if (getsockname(connected, (struct sockaddr *)&own, &length) != 0) return 0;
  return getnameinfo((struct sockaddr *)&own, length, address, (socklen_t)size, NULL, 0, NI_NUMERICHOST) == 0;
}
