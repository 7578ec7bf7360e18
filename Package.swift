// swift-tools-version: 6.2
import Foundation
import PackageDescription

// docs/ARCHITECTURE.md shows the layers of these dependencies.

// The settings of tests, examples and benchmarks, without strict memory safety: a wrong pointer there fails a test but
// loses no data, and the word `unsafe` would distract from the checks.
var settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
// Compilers differ in their warnings: 6.2 considers `span.bytes` safe, 6.3 does not. Warnings are errors only with the
// compiler that the project is developed with, so that the sources build with others.
#if compiler(>=6.3) && compiler(<6.4)
  settings.append(.treatAllWarnings(as: .error))
#endif
// The settings of shipped code: each unsafe use of memory is marked `unsafe`.
let strict = settings + [.strictMemorySafety()]

// The settings of tests, also in an optimized build: values live to the end of their scope, as in a debug build, and
// compilation takes a third of the time.
let plain = settings + [.unsafeFlags(["-Onone"])]

let package = Package(
  name: "realmfs",
  products: [
    .library(name: "RealmPages", targets: ["RealmPages"]),
    .library(name: "RealmJSON", targets: ["RealmJSON"]),
    .library(name: "RealmQuery", targets: ["RealmQuery"]),
    .library(name: "RealmSwift", targets: ["RealmSwift"]),
    .executable(name: "realmfs", targets: ["realmfs"]),
  ],
  targets: [
    .systemLibrary(name: "CFuse", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CIntelDecimal", providers: [.apt(["libintelrdfpmath-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "CPostgres", dependencies: ["CLinux"]),
    .target(name: "CXLSXWriter", dependencies: ["CLinux"]),
    .target(name: "CMicroHTTPD", dependencies: ["CLinux"]),
    .target(name: "CWebResources"),
    .target(name: "CLinux"),
    .target(name: "Threads", swiftSettings: strict),
    .target(
      name: "RealmPages",
      dependencies: ["Threads", "CLinux", "COpenSSL", "CIntelDecimal"],
      swiftSettings: strict
    ),
    .target(
      name: "RealmSwift",
      dependencies: ["RealmPages", "RealmJSON", "RealmQuery", "RealmSync", "Threads"],
      swiftSettings: strict
    ),
    .target(name: "RealmJSON", dependencies: ["RealmPages"], swiftSettings: strict),
    .target(name: "RealmNames", dependencies: ["RealmPages", "RealmJSON", "COpenSSL"], swiftSettings: strict),
    .target(
      name: "FileTree",
      dependencies: ["RealmPages", "RealmJSON", "RealmNames", "RealmQuery", "RealmTransfer", "Threads", "CLinux"],
      swiftSettings: strict
    ),
    .target(
      name: "RealmTransfer",
      dependencies: ["RealmPages", "RealmJSON", "RealmNames", "Threads", "CLinux", "CSQLite", "CXLSXWriter", "CZlib"],
      swiftSettings: strict
    ),
    .target(
      name: "RealmReplica",
      dependencies: ["RealmPages", "RealmJSON", "RealmTransfer", "Threads", "CLinux", "CPostgres", "COpenSSL"],
      swiftSettings: strict
    ),
    .target(name: "RealmQuery", dependencies: ["RealmPages"], swiftSettings: strict),
    .target(
      name: "RealmSync",
      dependencies: ["RealmPages", "Threads", "CTLS", "CZlib"],
      swiftSettings: strict
    ),
    .target(
      name: "RealmWeb",
      dependencies: [
        "RealmPages", "RealmJSON", "RealmQuery", "RealmTransfer", "Threads", "CLinux", "CMicroHTTPD", "CWebResources",
      ],
      // CWebResources embeds these files.
      exclude: ["Resources"],
      swiftSettings: strict
    ),
    .target(name: "FuseBridge", dependencies: ["FileTree", "Threads", "CFuse", "CLinux"], swiftSettings: strict),
    .executableTarget(
      name: "realmfs",
      dependencies: [
        "RealmPages", "RealmJSON", "RealmNames", "FileTree", "FuseBridge", "RealmTransfer", "RealmReplica",
        "RealmQuery", "RealmSync", "RealmWeb", "CLinux", "Threads",
      ],
      swiftSettings: strict
    ),
    .target(
      name: "TestSupport",
      dependencies: ["RealmPages", "RealmJSON"],
      path: "Tests/TestSupport",
      swiftSettings: settings
    ),
    .target(
      name: "TreeSupport",
      dependencies: ["TestSupport", "FileTree"],
      path: "Tests/TreeSupport",
      swiftSettings: settings
    ),
    // A sync server that injects faults on request.
    .target(
      name: "SyncSupport",
      dependencies: ["RealmSync", "RealmPages"],
      path: "Tests/SyncSupport",
      swiftSettings: settings
    ),
    // The same as a program, for tests of the command line.
    .executableTarget(
      name: "SyncServer",
      dependencies: ["RealmPages", "SyncSupport"],
      path: "Tests/SyncServer",
      swiftSettings: settings
    ),
    // Commits until a test kills it.
    .executableTarget(
      name: "CommitLoop",
      dependencies: ["RealmPages"],
      path: "Tests/CommitLoop",
      swiftSettings: settings
    ),
    // Observes a realm, or commits to it until it is killed; tests of two programs run it.
    .executableTarget(
      name: "ObserveLoop",
      dependencies: ["RealmSwift"],
      path: "Tests/ObserveLoop",
      swiftSettings: settings
    ),
    // Edits a tree at random; a test runs it on a mount.
    .executableTarget(
      name: "EditLoop",
      dependencies: ["RealmPages", "TestSupport", "TreeSupport"],
      path: "Tests/EditLoop",
      swiftSettings: settings
    ),
    // The example package, as `make check` runs it.
    .executableTarget(
      name: "todo",
      dependencies: ["RealmSwift"],
      path: "Examples/Todo/Sources/todo",
      swiftSettings: settings
    ),
    // A disk that logs writes, and power cuts simulated from that log: docs/RELIABILITY.md.
    .executableTarget(name: "RecordedDisk", dependencies: ["CFuse"], path: "Tests/RecordedDisk"),
    .target(name: "CDisk", path: "Tests/CDisk"),
    .executableTarget(
      name: "PowerCut",
      dependencies: ["RealmPages", "TestSupport", "CDisk", "RecordedDisk", "CommitLoop"],
      path: "Tests/PowerCut",
      swiftSettings: settings
    ),
    // Programs that share a realm, one step at a time: freely, or with a scheduler in the C library.
    .target(name: "CSchedule", path: "Tests/CSchedule"),
    .executableTarget(
      name: "Simulator",
      dependencies: ["RealmPages", "TestSupport", "CSchedule"],
      path: "Tests/Simulator",
      swiftSettings: settings,
      linkerSettings: [
        .unsafeFlags(["-Xlinker", "--wrap=clinux_shared_lock", "-Xlinker", "--wrap=clinux_shared_unlock"])
      ]
    ),
    // Flips every byte of a file, and counts the flips that are detected.
    .executableTarget(
      name: "Flips",
      dependencies: ["RealmPages", "TestSupport"],
      path: "Tests/Flips",
      swiftSettings: settings
    ),
    // Damages files; a test runs every command on them.
    .executableTarget(
      name: "MutantFiles",
      dependencies: ["TestSupport"],
      path: "Tests/MutantFiles",
      swiftSettings: settings
    ),
    .testTarget(
      name: "RealmPagesTests",
      dependencies: ["RealmPages", "RealmJSON", "TestSupport", "CommitLoop"],
      swiftSettings: plain
    ),
    // Damaged files; the address sanitizer runs these tests, too.
    .testTarget(
      name: "MutantTests",
      dependencies: ["RealmPages", "RealmJSON", "RealmQuery", "TestSupport"],
      swiftSettings: plain
    ),
    .testTarget(
      name: "RealmSwiftTests",
      dependencies: ["RealmSwift", "RealmPages", "RealmSync", "Threads", "TestSupport", "SyncSupport", "ObserveLoop"],
      swiftSettings: plain
    ),
    .testTarget(name: "RealmJSONTests", dependencies: ["RealmJSON", "TestSupport"], swiftSettings: plain),
    .testTarget(name: "RealmNamesTests", dependencies: ["RealmNames", "TestSupport"], swiftSettings: plain),
    .testTarget(name: "RealmQueryTests", dependencies: ["RealmQuery", "TestSupport"], swiftSettings: plain),
    .testTarget(
      name: "RealmSyncTests",
      dependencies: ["RealmSync", "RealmPages", "RealmJSON", "Threads", "TestSupport", "TreeSupport", "SyncSupport"],
      exclude: ["tls_proxy.py", "exchange.txt"],
      swiftSettings: plain
    ),
    .testTarget(
      name: "FileTreeTests",
      dependencies: ["FileTree", "RealmNames", "TestSupport", "TreeSupport"],
      swiftSettings: plain
    ),
    .testTarget(
      name: "FuseBridgeTests",
      dependencies: ["FuseBridge", "FileTree", "RealmPages"],
      swiftSettings: plain
    ),
    .testTarget(
      name: "RealmReplicaTests",
      dependencies: ["RealmReplica", "RealmPages", "RealmJSON", "RealmTransfer", "TestSupport"],
      swiftSettings: plain
    ),
    .testTarget(
      name: "RealmWebTests",
      dependencies: ["RealmWeb", "RealmPages", "RealmJSON", "TestSupport"],
      swiftSettings: plain
    ),
    .testTarget(
      name: "CommandTests",
      dependencies: ["TestSupport", "RealmTransfer", "realmfs"],
      swiftSettings: plain
    ),
  ],
  swiftLanguageModes: [.v6]
)

// The examples of the reference of RealmPages.
for name in ["list-objects", "find-objects", "change-objects", "follow-changes", "encrypted-realm"] {
  package.targets.append(
    .executableTarget(
      name: name,
      dependencies: ["RealmPages", "RealmQuery"],
      path: "Examples/Pages/Sources/\(name)",
      swiftSettings: settings
    )
  )
}

// Benchmarks, not shipped: REALMFS_BENCHMARKS=1 swift build -c release --product WriteBench.
if Context.environment["REALMFS_BENCHMARKS"] != nil {
  package.targets += [
    .executableTarget(
      name: "WriteBench",
      dependencies: ["RealmPages", "CSQLite"],
      path: "Benchmarks/WriteBench",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "ObjectBench",
      dependencies: ["RealmSwift"],
      path: "Benchmarks/ObjectBench",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "ReplicaLoad",
      dependencies: ["RealmPages"],
      path: "Benchmarks/ReplicaLoad",
      swiftSettings: settings
    ),
  ]
}

// Only the tests that a sanitizer runs, and their dependencies:
// REALMFS_TESTS="RealmPagesTests RealmQueryTests" swift build --build-tests.
if let tests = Context.environment["REALMFS_TESTS"] {
  var needed = Set(tests.split(separator: " ").map(String.init)), last: Set<String> = []
  while needed != last {
    last = needed
    for target in package.targets where needed.contains(target.name) {
      for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
    }
  }
  package.products = []
  package.targets.removeAll { !needed.contains($0.name) }
}
