// What the user chooses about the mount itself.

/// How a tree is mounted and served.
public struct FuseSettings: Sendable {
  /// The directory to mount on.
  public var mountPoint: String
  /// Whether the process stays attached to its terminal. It changes nothing here; the command forks or does not.
  public var foreground = false
  /// Options for the kernel or libfuse, each as after `-o`. `ro` or `rw`, as the tree is, and
  /// `default_permissions` are always added.
  public var kernelOptions: [String] = []
  /// The most threads that serve requests; nil chooses by the number of processors.
  public var threads: Int?
  /// Whether one thread serves everything.
  public var singleThread = false
  /// For how many microseconds a thread asks the kernel for the next request before it sleeps, as long as requests come
  /// that soon. On a machine with one processor it sleeps at once.
  public var busyPoll = 30
  /// Whether libfuse tells of each request.
  public var debug = false
  /// Takes what libfuse has to say; its names are those of files, so they can hold anything.
  public var log: (@Sendable (String) -> Void)?

  /// Serves `mountPoint` with as many threads as suit the machine.
  public init(mountPoint: String) { self.mountPoint = mountPoint }
}
