// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "pages",
  dependencies: [.package(name: "realmfs", path: "../..")],
  targets: ["list-objects", "find-objects", "change-objects", "follow-changes", "encrypted-realm"].map { name in
    .executableTarget(
      name: name,
      dependencies: [
        .product(name: "RealmPages", package: "realmfs"), .product(name: "RealmQuery", package: "realmfs"),
      ]
    )
  },
  swiftLanguageModes: [.v6]
)
