// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "todo",
  dependencies: [.package(name: "realmfs", path: "../..")],
  targets: [
    .executableTarget(name: "todo", dependencies: [.product(name: "RealmSwift", package: "realmfs")])
  ],
  swiftLanguageModes: [.v6]
)
