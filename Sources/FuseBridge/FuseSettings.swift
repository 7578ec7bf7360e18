// The user's options for the mount itself.

/// Options for mounting and serving a tree.
public struct FuseSettings: Sendable {
  /// The directory to mount on.
  public var mountPoint: String
  /// True if the process stays attached to its terminal. It has no effect here; the command decides whether to fork.
  public var foreground = false
  /// Options for the kernel or libfuse, each as given after `-o`. `default_permissions` and, depending on the tree,
  /// `ro` or `rw` are always added.
  public var kernelOptions: [String] = []
  /// The number of threads; nil to derive it from the number of processors.
  public var threads: Int?
  /// True if one thread serves all requests.
  public var singleThread = false
  /// The time in microseconds for which a thread polls for the next request before it sleeps, while requests arrive
  /// within that time. On a machine with one processor, it sleeps at once.
  public var busyPoll = 30
  /// True if libfuse logs each request.
  public var debug = false
  /// Receives the messages of libfuse. They contain file names, so they can contain any characters.
  public var log: (@Sendable (String) -> Void)?

  /// Creates settings for `mountPoint` with default values.
  public init(mountPoint: String) { self.mountPoint = mountPoint }
}
