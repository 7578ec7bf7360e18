# Terminates TLS in front of a server on the loopback interface: tls_proxy.py CERTIFICATE KEY PORT. Prints its own port.
import socket, ssl, sys, threading

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in source, sink:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(plain):
    try:
        client = context.wrap_socket(plain, server_side=True)
    except (ssl.SSLError, OSError):
        return plain.close()
    server = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
    threading.Thread(target=pump, args=(client, server), daemon=True).start()
    pump(server, client)


while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
